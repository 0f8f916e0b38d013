"""Select balanced prompts of a PKU-SafeRLHF file, and write them to files of their own.

    python -m workers.tasks.safety.select train.jsonl --train 250 --eval 500 --out DIR [--seed 42] [--without FILE …]

DIR gets train.jsonl and eval.jsonl, their lines as published, and selection.json, which counts buckets and harms. No
prompt occurs twice in them, in both, or in a file that --without names. Exit codes: 0; 2, and stderr gives the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.tasks.safety.prompt_file import BadPrompts, Row, read_prompts
from workers.tasks.safety.selection import select_balanced

DONE, CANNOT = 0, 2
HARMS = {f"response_{i}": f"response_{i}_harm_category" for i in range(2)}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    options = _parser().parse_args(argv)
    try:
        rows = read_prompts(options.file)
        excluded = [row for path in options.without for row in read_prompts(path)]
        train = select_balanced(rows, options.train, options.seed, excluded=excluded)
        held_out = select_balanced(rows, options.eval, options.seed, excluded=[*excluded, *train])
        _write(options.out, {"train": train, "eval": held_out}, options.seed)
    except (BadPrompts, OSError) as error:
        print(error, file=sys.stderr)
        return CANNOT
    print(f"{options.out}: {len(train)} prompts to train on, {len(held_out)} held out")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.tasks.safety.select", description="Select balanced prompts of a PKU-SafeRLHF file."
    )
    parser.add_argument("file", help="JSONL as published: prompt, is_response_0_safe, is_response_1_safe")
    parser.add_argument("--train", type=int, default=250, help="number of training prompts (250)")
    parser.add_argument("--eval", type=int, default=500, help="number of held-out prompts (500)")
    parser.add_argument("--seed", type=int, default=42, help="seed of the selection (42)")
    parser.add_argument("--without", nargs="*", default=[], metavar="FILE", help="files with prompts to leave out")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    return parser


def _write(folder: Path, selected: dict[str, list[Row]], seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in selected.items():
        lines = "".join(json.dumps(row.published, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    counts = {"seed": seed, **{split: _count_rows(rows) for split, rows in selected.items()}}
    (folder / "selection.json").write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


def _count_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Return counts and shares of the buckets, and the number of times each harm was named, for each response that has
    any."""
    buckets = Counter(row.bucket for row in rows)
    harms = {name: _harms(rows, key) for name, key in HARMS.items() if any(key in row.published for row in rows)}
    return {
        "prompts": len(rows),
        "bucket_counts": dict(sorted(buckets.items())),
        "bucket_proportions": {bucket: count / len(rows) for bucket, count in sorted(buckets.items())},
        "harm_counts_per_response": harms,
    }


def _harms(rows: Sequence[Row], key: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        harms = row.published.get(key)
        counts.update(
            {name: int(bool(is_named)) for name, is_named in harms.items()} if isinstance(harms, dict) else {}
        )
    return dict(counts)


if __name__ == "__main__":
    sys.exit(main())
