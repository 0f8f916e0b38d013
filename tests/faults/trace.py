"""Find out which tests execute which fault: change a copy of the project so that each planned place reports its tests.

    python -m tests.faults trace COPY HITS

COPY is a clone with its own `.venv`; afterwards `make test` in it fills the folder HITS, a file a fault.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.faults.mutations import Fault, Location, find

HITS = Path(__file__).with_name("hits.py")


def instrument(root: Path, hits: Path, faults: Sequence[Fault]) -> None:
    """Let every fault's expression report the running test before it is evaluated. Lines keep their numbers."""
    hits.mkdir(parents=True, exist_ok=True)
    by_path: dict[str, list[tuple[int, Location]]] = defaultdict(list)
    for number, fault in enumerate(faults):
        if place := find(root, fault):
            by_path[fault.path].append((number, place))
    for path, places in by_path.items():
        source = (root / path).read_text(encoding="utf-8")
        for number, place in sorted(places, key=lambda numbered: numbered[1].start, reverse=True):
            expression = source[place.start : place.end]
            source = f"{source[: place.start]}({_call(number, hits)} or ({expression})){source[place.end :]}"
        ast.parse(source)
        (root / path).write_text(source, encoding="utf-8")


def tests_of(hits: Path, number: int) -> list[str]:
    """Return the ids of the tests that executed this fault, in the order in which they did first."""
    file = hits / str(number)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [test for test in dict.fromkeys(lines) if test]


def _call(number: int, hits: Path) -> str:
    """Return an expression that is false and reports. Its text needs no import, and works in any process."""
    load = f"exec(compile(open({str(HITS)!r}).read(), 'hits', 'exec'), {{}})"
    system = "__import__('sys')"
    return f"(getattr({system}, '_esweb_hit', None) or {load} or {system}._esweb_hit)({number}, {str(hits)!r})"
