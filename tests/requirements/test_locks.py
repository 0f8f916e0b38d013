"""Locks hold versions and hashes alone, and sets of one environment agree."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

LOCKS = sorted((Path(__file__).parents[2] / "requirements").glob("*.lock"))
PIN = re.compile(r"^([\w.\[\],-]+)==([^\s;]+)", re.MULTILINE)
APART = {"vllm.lock"}
"""Locks of environments of their own."""


def test_sets_of_one_environment_have_the_same_versions() -> None:
    pins: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for lock in LOCKS:
        for name, version in PIN.findall(lock.read_text(encoding="utf-8")):
            if lock.name not in APART:
                pins[name][lock.name].add(version)
    # A package may have several versions, each for other versions of Python.
    differing = {name for name, by_lock in pins.items() if len(set(map(frozenset, by_lock.values()))) > 1}
    assert len(pins) > 100
    assert differing == set()


def test_locks_name_no_address() -> None:
    assert [lock.name for lock in LOCKS if "://" in lock.read_text(encoding="utf-8")] == []
