"""`python -m tests.check`: run all parts of `make check`; print times and what the tests of each package cost.

Lint goes first, since it takes seconds; nothing else runs if it fails. Types and import contracts are checked
concurrently with the tests, which wait a lot.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from tests.cost import PYTEST, package_lines, read
from tests.cost_plugin import VARIABLE

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Part:
    """A command whose exit code says whether the part passes. `niceness` as in nice(1)."""

    name: str
    argv: Sequence[str | Path]
    niceness: int = 0


@dataclass(frozen=True)
class Outcome:
    """The result of a part, and what is printed of it after all parts."""

    part: Part
    code: int
    seconds: float
    output: str = ""


def main() -> int:
    """Run every part, print the table, and return 1 if any part failed."""
    outcomes = [_run(part) for part in _lint()]
    if not any(outcome.code for outcome in outcomes):
        outcomes += _static_and_tests()
    for outcome in outcomes:
        if outcome.output:
            print(f"\n== {outcome.part.name} ==\n{outcome.output}")
    print("\n" + "\n".join(_table(outcomes)))
    return int(any(outcome.code for outcome in outcomes))


def _static_and_tests() -> list[Outcome]:
    with ThreadPoolExecutor() as threads:
        futures = [threads.submit(_run, part, quiet=True) for part in _static()]
        tests = _run_tests()
        return [tests, *(future.result() for future in futures)]


def _run_tests() -> Outcome:
    """Run the tests. The output of the outcome is what they cost, since theirs was shown while they ran."""
    with tempfile.TemporaryDirectory(prefix="esweb-cost-") as temporary:
        folder = os.environ.get(VARIABLE, temporary)
        argv = [sys.executable, *PYTEST, "--durations=10", "--durations-min=0"]
        outcome = _run(Part("tests", argv), variables={VARIABLE: folder})
        return replace(outcome, output="\n".join(package_lines(read(Path(folder)))))


def _lint() -> list[Part]:
    result = subprocess.run(
        ["git", "ls-files", "templates/*.html"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ruff = (sys.executable, "-m", "ruff")
    return [
        Part("lint", [*ruff, "check", "."]),
        Part("format", [*ruff, "format", "--check", "."]),
        Part("templates", [BIN / "djade", "--check", "--target-version", "5.2", *result.stdout.split()]),
    ]


def _static() -> list[Part]:
    return [
        Part("types", [sys.executable, "-m", "mypy"], niceness=10),
        Part("contracts", [BIN / "lint-imports"], niceness=10),
    ]


def _run(part: Part, *, quiet: bool = False, variables: Mapping[str, str] = MappingProxyType({})) -> Outcome:
    if not quiet:
        print(f"== {part.name} ==", flush=True)
    started_at = time.monotonic()
    result = subprocess.run(
        ["nice", "-n", str(part.niceness), *part.argv],
        cwd=ROOT, check=False, text=True, env=os.environ | variables,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
    )  # fmt: skip
    # What a quiet part printed is of interest if it failed.
    output = result.stdout if result.returncode else None
    return Outcome(part, result.returncode, time.monotonic() - started_at, output or "")


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [f"{outcome.part.name:10} {outcome.seconds:7.1f} s  {_verdict(outcome)}" for outcome in outcomes]
    return ["part          time     result", *rows]


def _verdict(outcome: Outcome) -> str:
    return f"failed with exit code {outcome.code}" if outcome.code else "passed"


if __name__ == "__main__":
    sys.exit(main())
