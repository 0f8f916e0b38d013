"""Annotations of responses that other apps add to the viewer by registering a source. The viewer imports none of them.

An example is judging, which reads runs and is never read by them. Annotations can be filtered and sorted by, and each
response shows its chips. Names of flags and sorts are used in URLs, together with the viewer's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.responses.viewer.columns import Columns


@dataclass
class Sql:
    """Part of an SQL statement, and its parameters in their order."""

    text: str
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class AnnotationField:
    """Flag or sort of an annotation source. `sql` is a boolean or a number.

    It may use {t}, the source's row for a column's response, all null if there is none; {c}, the response itself; and
    {pin}, the pinned column's response.
    """

    words: str
    sql: str


@dataclass(frozen=True)
class Picked:
    """Choice that limits which annotations count: value -> words; `all` is the label if nothing is picked."""

    words: str
    all: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Chip:
    """Short label at a response, and the lines that it unfolds to. `tone` is good, bad, warn or idle."""

    sign: str
    words: str
    tone: str = "idle"
    lines: Sequence[str] = field(default_factory=tuple)


class AnnotationSource(Protocol):
    """Source of annotations. `flags` and `sorts` are by name; `title` is the heading of its filters."""

    title: str
    flags: Mapping[str, AnnotationField]
    sorts: Mapping[str, AnnotationField]
    picks: Sequence[str]
    """Names of the choices that it may offer."""

    def picked(self, columns: Columns) -> Mapping[str, Picked]:
        """Return the choices for these columns, by name; empty if the source has no annotations of them."""

    def notes(self, columns: Columns) -> Sequence[str]:
        """Return notices about which annotations of these columns are shown or not shown."""

    def table(self, columns: Columns, picked: Mapping[str, str]) -> Sql:
        """Return a query with a row for each annotated response: its `id`, and what flags and sorts need."""

    def chips(self, columns: Columns, rows: Sequence[Sequence[int | None]]) -> Mapping[int, Sequence[Chip]]:
        """Return response id -> its chips. rows: the response ids of each column, None if it has none."""


_tellers: list[AnnotationSource] = []


def tell(teller: AnnotationSource) -> None:
    """Register a source with the viewer. Raise ValueError if it uses a name of another source."""
    taken = {name for other in _tellers for name in (*other.flags, *other.sorts, *other.picks)}
    if doubled := taken & {*teller.flags, *teller.sorts, *teller.picks}:
        raise ValueError(f"{', '.join(sorted(doubled))}: another tells that already")
    _tellers.append(teller)


def tellers() -> tuple[AnnotationSource, ...]:
    """Return all registered sources, in the order of registration."""
    return tuple(_tellers)


def picked(columns: Columns) -> dict[str, Picked]:
    """Return the choices of all sources for these columns, by name."""
    return {name: one for teller in _tellers for name, one in teller.picked(columns).items()}


def notes(columns: Columns) -> list[str]:
    """Return the notices of all sources about these columns."""
    return [note for teller in _tellers for note in teller.notes(columns)]


def chips(columns: Columns, rows: Sequence[Sequence[int | None]]) -> dict[int, list[Chip]]:
    """Return response id -> the chips of all sources. rows: the response ids of each column, None if it has none."""
    found: dict[int, list[Chip]] = {}
    for teller in _tellers:
        for answer, own in teller.chips(columns, rows).items():
            found.setdefault(answer, []).extend(own)
    return found


def flags() -> dict[str, AnnotationField]:
    """Return the flags of all sources, by name."""
    return {name: told for teller in _tellers for name, told in teller.flags.items()}


def sorts() -> dict[str, AnnotationField]:
    """Return the sorts of all sources, by name."""
    return {name: told for teller in _tellers for name, told in teller.sorts.items()}
