"""Builds the tiny model, or micro, in a folder of your choice, and shows its progress.

    python -m workers.models.tiny --out DIR [--name tiny|micro] [--seed 0]

It takes the model from the cache if it was built before; a cached one is copied quickly.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from transformers.utils import logging

from workers.models.resolve import resolve
from workers.models.tiny.build import MANIFEST
from workers.models.tiny.recipe import RECIPES

BAR_WIDTH = 24


class Bar:
    """A line that is drawn over on a terminal; if the output goes to a file, a new line at each tenth."""

    def __init__(self) -> None:
        self._drawn_over = sys.stderr.isatty()
        self._last_stage = ""

    def __call__(self, message: str, share: float) -> None:
        if self._drawn_over:
            full = round(share * BAR_WIDTH)
            bar = "#" * full + "." * (BAR_WIDTH - full)
            print(f"\r{share:4.0%} {bar} {message}\x1b[K", end="", file=sys.stderr, flush=True)
            return
        # The sentence changes at every step; its beginning, up to the colon, only with the phase.
        stage = f"{message.partition(':')[0]} {share * 10:.0f}"
        if stage != self._last_stage:
            print(f"{share:4.0%} {message}", file=sys.stderr, flush=True)
            self._last_stage = stage

    def close(self) -> None:
        if self._drawn_over:
            print(file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Return 0; 2 if the folder is taken by something else or the arguments are wrong."""
    arguments = _parser().parse_args(argv)
    out: Path = arguments.out
    if out.exists() and not (out / MANIFEST).is_file() and (not out.is_dir() or any(out.iterdir())):
        print(f"{out} already exists and is not a model built by esweb: give a new or empty folder", file=sys.stderr)
        return 2
    # transformers draws bars of its own over ours.
    logging.disable_progress_bar()
    bar = Bar()
    folder = resolve(arguments.name, bar, seed=arguments.seed)
    bar.close()
    shutil.copytree(folder, out, dirs_exist_ok=True)
    print(out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.models.tiny", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to create")
    parser.add_argument("--name", choices=list(RECIPES), default="tiny", help="model to build (default: tiny)")
    parser.add_argument("--seed", type=int, default=0, help="seed of corpus, weights and data order (default: 0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
