"""The program that plants faults: what it changes, and that it sees which test finds a fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import kills, mutations, trace
from tests.faults.compare import table
from tests.faults.kills import Outcome
from tests.faults.mutations import KINDS, Fault

CODE = '''"""A shop."""
LIMIT = 3


def price(items: list[int], *, discount: float = 0.5) -> float:
    """Return the price of at most 3 items."""
    if len(items) > LIMIT:
        raise ValueError(f"{len(items) + 1} are too many")
    log("price", items)
    return sum(items) * 1.5 if "ä" != "ö" and items else 0


def log(*words: object) -> None:
    print(*words)
'''
TESTS = """
from workers.shop import price

def test_empty():
    assert price([]) == 0

def test_price():
    assert price([2, 4]) == 9

def test_limit():
    assert price([1, 1, 1]) == 4.5
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a small project with a test of each of its rules."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers/shop.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .", encoding="utf-8")
    for argv in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *argv], cwd=tmp_path, check=True)
    return tmp_path


def test_faults_change_expressions_of_functions_only(shop: Path) -> None:
    changes = {(fault.kind, fault.original, fault.replacement) for fault in _all(shop)}
    assert changes == {
        ("boundary", "len(items) > LIMIT", "(len(items)) >= (LIMIT)"),
        ("condition", "len(items) > LIMIT", "not (len(items) > LIMIT)"),
        ("dropped call", 'log("price", items)', "None"),
        ("swapped arguments", 'log("price", items)', 'log(items, "price")'),
        ("operator", "sum(items) * 1.5", "(sum(items)) + (1.5)"),
        ("constant", "1.5", "3.0"),
        ("constant", "0", "1"),
        ("operator", '"ä" != "ö" and items', '("ä" != "ö") or (items)'),
        ("condition", '"ä" != "ö" and items', 'not ("ä" != "ö" and items)'),
        ("operator", '"ä" != "ö"', '("ä") == ("ö")'),
        ("dropped call", "print(*words)", "None"),
    }


def test_plan_is_the_same_for_a_seed(shop: Path) -> None:
    plan = mutations.plan(shop, 3, seed=5)
    assert plan == mutations.plan(shop, 3, seed=5)
    assert len(set(plan)) == 3 and {fault.kind for fault in plan} <= set(KINDS)


def test_fault_is_located_after_lines_have_moved(shop: Path) -> None:
    fault = next(fault for fault in _all(shop) if fault.kind == "boundary")
    (shop / fault.path).write_text(f"\n\n{CODE}", encoding="utf-8")
    assert mutations.find(shop, fault).fault.line == fault.line + 2
    (shop / fault.path).write_text(CODE.replace("> LIMIT", "> 2"), encoding="utf-8")
    assert mutations.find(shop, fault) is None


def test_tests_that_execute_a_fault_are_known_and_kill_it(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    faults = [fault for fault in _all(shop) if fault.original in ("1.5", "len(items) > LIMIT", "print(*words)")]
    hits = shop / "hits"
    trace.instrument(shop, hits, faults[:1])
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=shop, check=True, capture_output=True)
    executed = trace.tests_of(hits, 0)
    assert executed == [f"test_shop.py::test_{name}" for name in ("empty", "price", "limit")]
    (shop / faults[0].path).write_text(CODE, encoding="utf-8")
    outcomes = {fault.kind: kills.kill(shop, 0, fault, executed) for fault in faults}
    assert {kind: (outcome.result, outcome.test) for kind, outcome in outcomes.items()} == {
        "boundary": ("killed", "test_shop.py::test_limit"),
        "condition": ("killed", "test_shop.py::test_empty"),
        "constant": ("killed", "test_shop.py::test_price"),
        "dropped call": ("survived", ""),
    }
    assert (shop / faults[0].path).read_text(encoding="utf-8") == CODE


def test_fault_that_no_test_executes_is_not_called_killed(shop: Path) -> None:
    assert kills.kill(shop, 4, _all(shop)[0], []).result == "not executed"


def test_tests_of_the_same_package_come_first() -> None:
    fault = Fault("runs/metrics/live/hub.py", "f()", 1, "constant", "1", "2", 0)
    tests = [
        "tests/cli/test_a.py::test_a",
        "tests/runs/metrics/test_b.py::test_slow",
        "tests/runs/metrics/test_b.py::test_b",
    ]
    seconds = {tests[0]: 0.1, tests[1]: 9.0, tests[2]: 0.2}
    assert kills.select(fault, tests, seconds) == [tests[2], tests[1], tests[0]]


def test_parameter_sets_that_became_one_test_are_still_there(shop: Path) -> None:
    tests = [
        "test_shop.py::test_price[2]",
        "test_shop.py::test_price[3]",
        "test_shop.py::test_gone",
        "test_no.py::test_a",
    ]
    assert kills.still_there(tests, shop) == ["test_shop.py::test_price"]


def test_comparison_counts_faults_that_tests_find_no_more() -> None:
    fault = Fault("runs/a.py", "f()", 1, "constant", "1", "2", 0)
    before = {0: Outcome(0, "killed", "a.py::t"), 1: Outcome(1, "killed", "a.py::t"), 2: Outcome(2, "survived")}
    after = {0: Outcome(0, "killed", "a.py::t"), 1: Outcome(1, "survived"), 2: Outcome(2, "killed", "a.py::u")}
    assert table([fault] * 3, before, after).splitlines()[-1] == (
        "Found before: 2 of 3. Of these found now: 1 (50.0 %). New: 1."
    )


def _all(root: Path) -> list[Fault]:
    return [place.fault for place in mutations.places(root, "workers/shop.py")]
