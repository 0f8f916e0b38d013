"""Plant faults in the code, and see which of them the tests find:

    python -m tests.faults plan [--count 60] [--seed 65]     choose the faults, into tests/faults/plan.json
    python -m tests.faults trace COPY HITS                   let COPY report which tests execute which fault
    python -m tests.faults kill COPY HITS RESULT             plant each fault in COPY, run its tests, into RESULT
    python -m tests.faults compare BEFORE AFTER              print the table of two results

COPY is a clone of the project with a `.venv` of its own, since both commands change its sources. `kill` takes
`--costs FOLDER` (of tests/cost.py) to run quick tests first, `--before RESULT` to run first what found a fault before,
and `--share 1/2` to do half of the faults, beside another process with another copy.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.faults import kills
from tests.faults.compare import table
from tests.faults.mutations import Fault, plan
from tests.faults.trace import instrument, tests_of

ROOT = Path(__file__).resolve().parents[2]
PLAN = Path(__file__).with_name("plan.json")


def main(argv: Sequence[str]) -> int:
    """Run one of the commands."""
    # A shell lets its background processes ignore interrupts, by which tests that take too long are ended.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = _parser().parse_args(argv)
    if options.command == "plan":
        faults = plan(ROOT, options.count, options.seed)
        PLAN.write_text("".join(f"{json.dumps(asdict(fault))}\n" for fault in faults), encoding="utf-8")
    elif options.command == "trace":
        instrument(options.copy.resolve(), options.hits.resolve(), planned())
    elif options.command == "kill":
        _kill(options)
    else:
        print(table(planned(), kills.read(options.before), kills.read(options.after)))
    return 0


def planned() -> list[Fault]:
    """Return the faults of the plan, in its order: their numbers are their positions."""
    return [Fault(**json.loads(line)) for line in PLAN.read_text(encoding="utf-8").splitlines()]


def _kill(options: argparse.Namespace) -> None:
    seconds = _test_seconds(options.costs) if options.costs else {}
    before = kills.read(options.before) if options.before else {}
    share, shares = map(int, options.share.split("/"))
    # A run that was cut short continues where it ended.
    outcomes = list(kills.read(options.result).values()) if options.result.exists() else []
    done = {outcome.number for outcome in outcomes}
    for number, fault in enumerate(planned()):
        if number % shares != share - 1 or number in done:
            continue
        tests = kills.select(fault, kills.still_there(tests_of(options.hits, number), options.copy), seconds)
        killer = kills.still_there([before[number].test] if number in before else [], options.copy)
        tests = [*killer, *(test for test in tests if test not in killer)]
        outcomes.append(kills.kill(options.copy.resolve(), number, fault, tests))
        print(f"{number:3} {outcomes[-1].result:13} {outcomes[-1].seconds:5.1f} s  {outcomes[-1].test}", flush=True)
        kills.write(options.result, outcomes)


def _test_seconds(folder: Path) -> dict[str, float]:
    """Return how long each test function took, with all of its parameter sets."""
    seconds: dict[str, float] = defaultdict(float)
    for path in folder.glob("*.json"):
        for test, (_, wall) in json.loads(path.read_text(encoding="utf-8"))["tests"].items():
            seconds[test.partition("[")[0]] += wall
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Do the tests find planted faults?")
    commands = parser.add_subparsers(dest="command", required=True)
    planning = commands.add_parser("plan")
    planning.add_argument("--count", type=int, default=60)
    planning.add_argument("--seed", type=int, default=65)
    tracing = commands.add_parser("trace")
    killing = commands.add_parser("kill")
    for command in (tracing, killing):
        command.add_argument("copy", type=Path)
        command.add_argument("hits", type=Path)
    killing.add_argument("result", type=Path)
    killing.add_argument("--costs", type=Path)
    killing.add_argument("--before", type=Path)
    killing.add_argument("--share", default="1/1")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
