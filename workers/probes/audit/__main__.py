"""Find noise that tensors of one model share:

    python -m workers.probes.audit BASE TUNED

BASE and TUNED are Hugging Face folders of one architecture with safetensors files.

Exit codes: 0 independent, 3 shared, 4 correlated or undecided, 2 input that cannot be read; stderr has the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError

from workers.probes.audit.cosines import PREFIX
from workers.probes.audit.verdict import EXPECTED_OUTSIDE, Audit, audit, band
from workers.probes.weights import WeightsDiffer

EXIT_CODES = {"independent": 0, "shared": 3, "correlated": 4, "undecided": 4}
BAD_INPUT = 2
ROWS = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    options = _parser().parse_args(argv)
    try:
        for folder in (options.base, options.tuned):
            if not folder.is_dir():
                raise WeightsDiffer(f"{folder} is not a folder")
        result = audit(options.base, options.tuned)
    except (WeightsDiffer, SafetensorError, OSError) as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    print(report(result))
    return EXIT_CODES[result.verdict]


def report(result: Audit) -> str:
    """Return the audit as text: a table of the strongest pairs, counts, and the verdict in the last line."""
    lines = []
    if result.strongest:
        lines.append(f"{'cosine':>9}  {'n':>11}  {'3/sqrt(n)':>9}  tensors (* outside of the corrected band)")
    for pair in result.strongest[:ROWS]:
        mark = "*" if pair.is_outside else " "
        lines.append(f"{pair.cosine:>9.5f}  {pair.n:>11}  {band(pair.n):>9.5f}{mark} {pair.first}  {pair.second}")
    lines += [
        f"{pair.cosine:>9.5f}  {pair.n:>11}  signs of {pair.first} and of {pair.second} shifted by {pair.lag} elements"
        for pair in result.shifted[:ROWS]
    ]
    lines += [f"shared by {len(group)} tensors: {', '.join(group)}" for group in result.groups]
    lines.append(f"{result.tensors} tensors compared, {result.unchanged} unchanged, {result.small} too small")
    if result.outside_share is not None:
        lines.append(
            f"{result.pairs} pairs, {result.outside_share:.2%} outside of 3/sqrt(n); independent normal noise gives "
            f"{EXPECTED_OUTSIDE:.2%}. Tensors of different sizes are compared in their first {PREFIX} elements."
        )
    lines.append(f"verdict: {result.verdict}: {result.reason}")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.probes.audit", description="Find noise that tensors of one model share."
    )
    parser.add_argument("base", type=Path, metavar="BASE", help="folder of the model before training")
    parser.add_argument("tuned", type=Path, metavar="TUNED", help="folder of the model after training")
    return parser


if __name__ == "__main__":
    sys.exit(main())
