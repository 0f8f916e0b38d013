"""Run tests for longer than `make test` does, with other seeds, and print one table of the results:

    python -m tests.soak [PART ...] [--duration SECONDS] [--seed N]

A part is a few test files that run until its time is over, or the tests of a package that are marked `soak`
(tests/soak_plugin.py). A new part is one line of PARTS. Exits 1 if a part failed, after all of them have run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import aligned
from tests.soak_plugin import SKIPPED, amounts

ROOT = Path(__file__).parents[1]
DEFAULT_SECONDS = 600
HEADER = ("part", "seed", "duration", "done", "result")


@dataclass(frozen=True)
class Part:
    """A part that `make soak PART=name` runs: test files or tests, as pytest takes them."""

    name: str
    description: str
    tests: tuple[str, ...]
    shows_output: bool = True
    """False if the site logs a line for most requests."""
    is_marked: bool = False
    """Whether the part is what `make test` leaves out of a package: its tests that are marked `soak`, each once."""

    @property
    def options(self) -> tuple[str, ...]:
        """Return pytest's options for this part."""
        return ("--soak", *("-s",) * self.shows_output, *("-m", "soak") * self.is_marked)


MARKED_PACKAGES = (
    "browser", "client", "clusters", "esweb", "guides", "judging", "runs", "security", "workers",
)  # fmt: skip
"""Folders of `tests` with tests that are marked `soak`."""
PARTS = (
    Part(
        "chaos", "Everything is killed and frozen in turn, disks are full, and the clock is set.",
        ("tests/chaos/test_faults.py",),
    ),
    Part(
        "postgres", "PostgreSQL is killed again and again.",
        ("tests/chaos/test_postgres_kills.py",),
    ),
    Part(
        "loss", "64 writers push and 100 pages watch while everything is killed, and the site stopped.",
        ("tests/chaos/test_loss.py",),
    ),
    Part(
        "slurm", "Controller, nodes, agents, programs and the worker are killed.",
        ("tests/clusters/test_slurm_kills.py",),
    ),
    Part(
        "ray", "Raylet, head, dashboard, agents, programs and the worker are killed.",
        ("tests/clusters/test_ray_kills.py",),
    ),
    Part(
        "writers", "64 writers push points while web and worker are killed.",
        ("tests/flows/test_writers_with_kills.py",),
    ),
    Part(
        "launches", "20, 40 and 100 launches arrive together on a busy machine.",
        ("tests/flows/test_parallel_launches.py",), shows_output=False,
    ),
    Part(
        "engines", "Engines of a population are killed and frozen between any two messages.",
        ("tests/workers/engines/es/test_engine_faults.py",),
    ),
    Part(
        "nodes", "Programs on other nodes of a run, and their engines, are killed.",
        ("tests/workers/engines/es/test_nodes.py::test_random_kills_of_nodes_and_engines_leave_weights_unchanged",),
    ),
    Part("fuzz", "The API is called with anything at all.", ("tests/security/test_api_fuzz.py",), False),
    Part(
        "paths", "Anybody calls any address of sites drawn at random.",
        ("tests/security/test_random_writes.py", "tests/security/test_random_reads.py"),
        shows_output=False,
    ),
    Part(
        "attack", "Requests that are made to cost much are sent to every route.",
        ("tests/security/test_costly_requests.py",), shows_output=False,
    ),
    Part(
        "pages", "Every page is opened with ten thousand runs, also on a slow connection.",
        ("tests/browser/test_every_page.py",), shows_output=False,
    ),
    Part(
        "coverage", "Data with a known truth: how often each interval that a page shows holds it.",
        ("tests/intervals/test_coverage.py",),
    ),
    Part("live", "A live page stays open and its connection is cut.", ("tests/browser/test_live_soak.py",)),
    *(
        Part(package, f"What `make test` leaves out of tests/{package}.", (f"tests/{package}",), False, is_marked=True)
        for package in MARKED_PACKAGES
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How a part ended: `done` says how much it did, where its tests count it."""

    part: str
    seed: int
    seconds: float
    amounts: str
    result: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the columns of HEADER."""
        return self.part, str(self.seed), f"{self.seconds:.0f} s", self.amounts, self.result


def soak(part: Part, seconds: int, seed: int) -> Outcome:
    """Run one part, between a line that names it and a line with its result."""
    print(f"\n== {part.name}: {part.description} Seed {seed}, {seconds} s ==", flush=True)
    started_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="esweb-soak-") as folder:
        file = Path(folder) / "amounts"
        env = {"ESWEB_SOAK_SECONDS": str(seconds), "ESWEB_SOAK_SEED": str(seed), "ESWEB_SOAK_AMOUNTS": str(file)}
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.soak_plugin", *part.options, *part.tests]
        code = subprocess.run(argv, cwd=ROOT, env=os.environ | env, check=False).returncode
        amounts_done = amounts(file)
    outcome = Outcome(part.name, seed, time.monotonic() - started_at, *_summary(code, amounts_done))
    command = f"make soak PART={part.name} DURATION={seconds} SEED={seed}"
    print(
        f"== {part.name}: {outcome.result} after {outcome.seconds:.0f} s; {outcome.amounts}; again: {command} ==",
        flush=True,
    )
    return outcome


def _summary(code: int, amounts_done: dict[str, int]) -> tuple[str, str]:
    """Return the counted amounts and the result; "skipped" if every test was skipped."""
    result = f"failed (exit code {code})" if code else "passed" if set(amounts_done) - {SKIPPED} else "skipped"
    return ", ".join(f"{amount} {unit}" for unit, amount in amounts_done.items()) or "nothing", result


def main(argv: Sequence[str]) -> int:
    """Run the parts that `argv` names, or all. Return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Run tests for longer, with other seeds.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(part.name for part in PARTS))
    parser.add_argument(
        "--duration", type=int, default=DEFAULT_SECONDS, help="seconds of each part (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    options = parser.parse_args(argv)
    if unknown := set(options.parts) - {part.name for part in PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PARTS)}")
    selected = [part for part in PARTS if part.name in options.parts or not options.parts]
    outcomes = [soak(part, options.duration, options.seed) for part in selected]
    print(f"\n{aligned([HEADER, *(outcome.cells for outcome in outcomes)])}", flush=True)
    return int(any(outcome.result.startswith("failed") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
