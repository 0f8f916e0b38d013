"""A pytest plugin: what `make soak` runs beyond `make test`.

Tests marked `soak` run in `make soak` only, as the part of their package; a smaller twin of each runs in `make test`.
Tests that use `rounds` run a few rounds in `make test`, and in `make soak` until the time of the part is over.
`python -m tests.soak` sets the environment variables.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("ESWEB_SOAK_SECONDS", "0"))
"""Duration of the soak's part, from the start of this process on; 0 outside a soak."""
SEED = int(os.environ.get("ESWEB_SOAK_SEED", "0"))
AMOUNTS_FILE = os.environ.get("ESWEB_SOAK_AMOUNTS", "")
"""Path of a file to which tests append amounts, a line such as `12 kills` each."""
SKIPPED = "skipped tests"

_started_at = time.monotonic()
_tests: list[str] = []
"""The ids of all tests of this process, in the order in which they run."""
_position = 0


def seed(usual: int) -> int:
    """Return the seed of the soak, or `usual` outside a soak."""
    return SEED if SECONDS else usual


def rounds(few: int, unit: str, *, settling_seconds: float = 0.0) -> Iterator[int]:
    """Yield 0, 1, …: `few` numbers, and in a soak as many more as there is time for.

    The tests of a part share its time evenly. `settling_seconds` are reserved for work after the last round.
    """
    number, longest = 0, 0.0
    while number < few or (SECONDS and time.monotonic() + longest + settling_seconds < _ends_at()):
        started_at = time.monotonic()
        yield number
        longest = max(longest, time.monotonic() - started_at)
        number += 1
    count(number, unit)


def count(amount: int, unit: str) -> None:
    """Add an amount to the soak's table."""
    if AMOUNTS_FILE:
        with Path(AMOUNTS_FILE).open("a", encoding="utf-8") as file:
            file.write(f"{amount} {unit}\n")


def amounts(path: Path) -> Counter[str]:
    """Return the sum of the amounts, by unit."""
    total: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        amount, _, unit = line.partition(" ")
        total[unit] += int(amount)
    return total


def _ends_at() -> float:
    """Return when the running test is to end: unused time of earlier tests is spread over the later ones."""
    return _started_at + SECONDS * (_position + 1) / max(1, len(_tests))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the tests that are marked `soak` too")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `soak`, unless this is a soak or a single test is named."""
    if config.getoption("soak") or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    if left_out:
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish(session: pytest.Session) -> None:
    _tests[:] = [item.nodeid for item in session.items]


def pytest_runtest_logstart(nodeid: str) -> None:
    global _position
    _position = _tests.index(nodeid) if nodeid in _tests else 0


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        count(1, SKIPPED)
    elif report.when == "call" and report.passed:
        count(1, "tests")
