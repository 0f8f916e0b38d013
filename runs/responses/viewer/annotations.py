"""Annotations of responses, which other apps add by registering a source. The viewer imports none of these apps.

An example is judging, which runs must not import. Rows can be filtered and sorted by annotations, and each
response shows its chips. Names of flags and sorts appear in URLs, together with the viewer's own.
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

    label: str
    sql: str


@dataclass(frozen=True)
class PickOptions:
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

    def picked(self, columns: Columns) -> Mapping[str, PickOptions]:
        """Return the choices for these columns, by name; empty if the source has no annotations of them."""

    def notes(self, columns: Columns) -> Sequence[str]:
        """Return notices about which annotations of these columns are shown or not shown."""

    def table(self, columns: Columns, picked: Mapping[str, str]) -> Sql:
        """Return a query with a row for each annotated response: its `id`, and what flags and sorts need."""

    def chips(self, columns: Columns, rows: Sequence[Sequence[int | None]]) -> Mapping[int, Sequence[Chip]]:
        """Return response id -> its chips. rows: the response ids of each column, None if it has none."""


_sources: list[AnnotationSource] = []


def register_source(source: AnnotationSource) -> None:
    """Register a source with the viewer. Raise ValueError if it uses a name of another source."""
    used = {name for other in _sources for name in (*other.flags, *other.sorts, *other.picks)}
    if duplicates := used & {*source.flags, *source.sorts, *source.picks}:
        raise ValueError(f"{', '.join(sorted(duplicates))}: another annotation already has this name")
    _sources.append(source)


def sources() -> tuple[AnnotationSource, ...]:
    """Return all registered sources, in the order of registration."""
    return tuple(_sources)


def picked(columns: Columns) -> dict[str, PickOptions]:
    """Return the choices of all sources for these columns, by name."""
    return {name: options for source in _sources for name, options in source.picked(columns).items()}


def notes(columns: Columns) -> list[str]:
    """Return the notices of all sources about these columns."""
    return [note for source in _sources for note in source.notes(columns)]


def chips(columns: Columns, rows: Sequence[Sequence[int | None]]) -> dict[int, list[Chip]]:
    """Return response id -> the chips of all sources. rows: the response ids of each column, None if it has none."""
    chips_by_response: dict[int, list[Chip]] = {}
    for source in _sources:
        for answer, own in source.chips(columns, rows).items():
            chips_by_response.setdefault(answer, []).extend(own)
    return chips_by_response


def flags() -> dict[str, AnnotationField]:
    """Return the flags of all sources, by name."""
    return {name: field for source in _sources for name, field in source.flags.items()}


def sorts() -> dict[str, AnnotationField]:
    """Return the sorts of all sources, by name."""
    return {name: field for source in _sources for name, field in source.sorts.items()}
