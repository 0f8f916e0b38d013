"""What others tell of answers that are held against the pinned column's. They say so here; who they are is not known.

Such as judging, which looks at runs and is never looked at by them. What is told can be asked for, sorted by, and
stands beside each answer. Names of flags and sorts stand in addresses, beside the viewer's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.responses.viewer.columns import Columns


@dataclass
class Sql:
    """A part of a statement, and its parameters in their order."""

    text: str
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class AnnotationField:
    """A flag or a sort. `sql`, a boolean or a number, is of {t}, what is told of a column's answer, all null where that
    is nothing; of {c}, the answer itself; and of {pin}, the pinned column's."""

    words: str
    sql: str


@dataclass(frozen=True)
class Picked:
    """A choice of which of it is told: value -> words; `all` where nothing is picked."""

    words: str
    all: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Chip:
    """What stands beside an answer, and the lines that it unfolds to. `tone` is good, bad, warn or idle."""

    sign: str
    words: str
    tone: str = "idle"
    lines: Sequence[str] = field(default_factory=tuple)


class AnnotationSource(Protocol):
    """Whoever tells. `flags` and `sorts` by name; `title` stands above what can be asked of it."""

    title: str
    flags: Mapping[str, AnnotationField]
    sorts: Mapping[str, AnnotationField]
    picks: Sequence[str]
    """Names of what may be picked."""

    def picked(self, columns: Columns) -> Mapping[str, Picked]:
        """What may be picked for these columns, by name; empty where nothing is told of them."""

    def notes(self, columns: Columns) -> Sequence[str]:
        """What is to be known of what is told, or not told, of these columns."""

    def table(self, columns: Columns, picked: Mapping[str, str]) -> Sql:
        """A query of one row an answer of which something is told: its `id`, and what flags and sorts need."""

    def chips(self, columns: Columns, rows: Sequence[Sequence[int | None]]) -> Mapping[int, Sequence[Chip]]:
        """Answer -> its chips. rows: the answers of each column, None where it has none."""


_tellers: list[AnnotationSource] = []


def tell(teller: AnnotationSource) -> None:
    """From now on the viewer tells this too. Raises ValueError where it uses a name of another's."""
    taken = {name for other in _tellers for name in (*other.flags, *other.sorts, *other.picks)}
    if doubled := taken & {*teller.flags, *teller.sorts, *teller.picks}:
        raise ValueError(f"{', '.join(sorted(doubled))}: another tells that already")
    _tellers.append(teller)


def tellers() -> tuple[AnnotationSource, ...]:
    """All of them, in the order in which they came."""
    return tuple(_tellers)


def picked(columns: Columns) -> dict[str, Picked]:
    """What may be picked for these columns, of all of them."""
    return {name: one for teller in _tellers for name, one in teller.picked(columns).items()}


def notes(columns: Columns) -> list[str]:
    """What all of them have to say about what they tell."""
    return [note for teller in _tellers for note in teller.notes(columns)]


def chips(columns: Columns, rows: Sequence[Sequence[int | None]]) -> dict[int, list[Chip]]:
    """Answer -> the chips of all of them. rows: the answers of each column, None where it has none."""
    found: dict[int, list[Chip]] = {}
    for teller in _tellers:
        for answer, own in teller.chips(columns, rows).items():
            found.setdefault(answer, []).extend(own)
    return found


def flags() -> dict[str, AnnotationField]:
    """Of all of them."""
    return {name: told for teller in _tellers for name, told in teller.flags.items()}


def sorts() -> dict[str, AnnotationField]:
    """Of all of them."""
    return {name: told for teller in _tellers for name, told in teller.sorts.items()}
