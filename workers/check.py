"""Checks a run before it starts: the memory of each GPU, the disk, and everything that must be on the machine.

    python -m workers.check run.json [--card GB] [--out DIR] [--json]

Exit codes: 0 nothing is missing; 1 something is missing, or does not fit; 2 the config is invalid, every problem is
named on stderr. The GPUs of this machine are read from its driver; --card checks for GPUs of another machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from workers.config import ConfigError, RunConfig
from workers.config.resources import connect
from workers.gpus import gpus
from workers.memory_plan import GB
from workers.preflight import make_report

READY, NOT_READY, BAD_CONFIG = 0, 1, 2
MIB = 2**20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        config = connect(RunConfig.read(arguments.config))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    cards, count = ([arguments.card], None) if arguments.card else _cards_here()
    report = make_report(config, cards=cards, gpus=count, out=arguments.out)
    print(json.dumps(report.to_json(), indent=1) if arguments.json else report.to_text())
    return NOT_READY if report.problems else READY


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.check", description="Check a run before it starts: memory, disk, needs."
    )
    parser.add_argument("config", type=Path, help="config of the run, a JSON file")
    parser.add_argument(
        "--card", type=_gigabytes, metavar="GB", help="memory of each GPU, if the run will be on another machine"
    )
    parser.add_argument("--out", type=Path, default=Path(), help="directory for records and checkpoints; default: here")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def _gigabytes(text: str) -> float:
    value = float(text)
    if not 0 < value < 100_000:
        raise argparse.ArgumentTypeError(f"must be a number of GB above 0 and below 100000, not {text}")
    return value


def _cards_here() -> tuple[list[float], int]:
    """Return the smallest GPU of this machine in GB, and how many it has. Without GPUs, plans are for usual sizes."""
    here = gpus()
    described = here.describe() if here is not None else ()
    sizes = [gpu.memory_mb * MIB / GB for gpu in described if gpu.memory_mb]
    return [min(sizes)] if sizes else [], len(described)


if __name__ == "__main__":
    sys.exit(main())
