"""A pytest plugin that writes what the tests of this process cost: core-seconds by file, fixture and test.

A core-second is one second of one core, in user or system mode, of the process that runs the tests, of its children and
of theirs. The CPU time of processes that have left that tree, such as a daemon, is not attributed to a test: it is part
of the machine's total only (tests/cost.py). The plugin writes if ESWEB_COST_FOLDER is set.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import pytest

VARIABLE = "ESWEB_COST_FOLDER"
FOLDER = os.environ.get(VARIABLE, "")
TICKS = os.sysconf("SC_CLK_TCK")

files: dict[str, float] = defaultdict(float)
"""Core-seconds by test file, with its fixtures and servers."""
fixtures: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
"""Core-seconds and number of setups by fixture, without the fixtures that it requests."""
tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
"""Core-seconds of this process and its ended children, and wall seconds, by test."""
_inner: list[float] = []
_file_started_at = 0.0


def own_seconds() -> float:
    """Return the core-seconds of this process and of its children that have ended."""
    usages = (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def tree_seconds() -> float:
    """Return the core-seconds of this process and of all its descendants, ended or alive."""
    return own_seconds() + sum(_descendants_seconds(os.getpid()))


def _descendants_seconds(root: int) -> Iterator[float]:
    processes = dict(_processes())
    for pid, (_, seconds) in processes.items():
        parent = pid
        while parent in processes and parent != root:
            parent = processes[parent][0]
        if parent == root and pid != root:
            yield seconds


def _processes() -> Iterator[tuple[int, tuple[int, float]]]:
    """Yield pid -> parent, core-seconds with its ended children. Nothing on a system without /proc."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name is in parentheses and may contain anything.
            values = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(stat.parent.name), (int(values[1]), sum(map(int, values[11:15])) / TICKS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    global _file_started_at
    file = item.nodeid.partition("::")[0]
    _file_started_at = _file_started_at or tree_seconds()
    cpu, wall = own_seconds(), time.monotonic()
    try:
        return (yield)
    finally:
        tests[item.nodeid][0] += own_seconds() - cpu
        tests[item.nodeid][1] += time.monotonic() - wall
        if nextitem is None or nextitem.nodeid.partition("::")[0] != file:
            now = tree_seconds()
            # Less than nothing if a browser has ended: the time of processes for which nobody waited is lost.
            files[file] += max(0.0, now - _file_started_at)
            _file_started_at = now


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    # Processes that a fixture leaves running count too, but looking at all of them for each test would cost seconds.
    seconds = own_seconds if fixturedef.scope in ("function", "class") else tree_seconds
    started_at = seconds()
    _inner.append(0.0)
    try:
        return (yield)
    finally:
        total, inner = seconds() - started_at, _inner.pop()
        if _inner:
            _inner[-1] += total
        cost = fixtures[f"{fixturedef.func.__module__}.{fixturedef.argname}"]
        cost[0] += total - inner
        cost[1] += 1


def pytest_collection_finish(session: pytest.Session) -> None:
    files["collection"] = own_seconds()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if FOLDER and tests:
        content = {"files": files, "fixtures": fixtures, "tests": tests}
        (Path(FOLDER) / f"{os.getpid()}.json").write_text(json.dumps(content), encoding="utf-8")
