"""Rebuild the checkpoint of any step of an ES run, bit for bit, from the base model, the replay log and the noise.

    python -m workers.engines.es.replay RUN_ROOT --step N --out DIR [--from-base] [--base FOLDER] [--device cpu|cuda]

RUN_ROOT is a run's root, which holds its attempts …-a1, -a2, …, or one attempt's directory. DIR becomes the Hugging
Face folder that the run would have saved after step N; if it is named like step-000013, a run can resume from it by
`--resume`.

Exit codes: 0, the last line on stdout is `sha256 <hex>` of the weights; 2, it cannot be rebuilt to the bit, and stderr
gives the reason in a sentence. While it works, DIR.progress.json holds {"done", "of"}.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from transformers.utils import logging

from workers.attempt import write_json
from workers.config import ConfigError
from workers.engines.es.quantiles import OtherQuantiles
from workers.engines.es.rebuild import Progress, rebuild
from workers.engines.es.replay_history import CannotReplay
from workers.engines.not_resumable import NotResumable

DONE, CANNOT, TERMINATED = 0, 2, 143
PROGRESS_SECONDS = 0.2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    options = _parser().parse_args(argv)
    logging.disable_progress_bar()
    # As an exception, so that what is half done is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    progress = options.out.with_name(f"{options.out.name}.progress.json")
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        sha256 = rebuild(
            options.root,
            options.step,
            options.out,
            from_base=options.from_base,
            base=options.base,
            device=options.device,
            progress=_write_progress_to(progress),
        )
    except (CannotReplay, ConfigError, NotResumable, OtherQuantiles, OSError) as error:
        print(error, file=sys.stderr)
        return CANNOT
    finally:
        progress.unlink(missing_ok=True)
    print(f"sha256 {sha256}")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.engines.es.replay", description="Rebuild the checkpoint of any step of an ES run."
    )
    parser.add_argument(
        "root", type=Path, metavar="RUN_ROOT", help="root folder of the run, or directory of one attempt"
    )
    parser.add_argument("--step", type=int, required=True, help="step to rebuild; 0 is the base model")
    parser.add_argument("--out", type=Path, required=True, help="folder to create; it must not exist yet")
    parser.add_argument(
        "--from-base", action="store_true", help="start from the base model instead of a saved checkpoint"
    )
    parser.add_argument("--base", type=Path, help="folder of the base model, if it has moved since the run")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="device to compute on")
    return parser


def _write_progress_to(file: Path) -> Progress:
    """Return a function that writes its progress into the file, at most five times a second."""
    due_at = 0.0

    def report(done: int, total: int) -> None:
        nonlocal due_at
        if time.monotonic() >= due_at:
            write_json(file, {"done": done, "of": total})
            due_at = time.monotonic() + PROGRESS_SECONDS

    return report


if __name__ == "__main__":
    sys.exit(main())
