"""A table: columns, and cells that are numbers, texts, estimates with intervals, means, ranks, badges or links.

`Table.csv` draws it as CSV, `latex` as LaTeX, the tag `table` on a page and `table_text` in a terminal. A column may be
given by its name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import Provenance
from runs.tables.numbers import MEASUREMENTS, PLAIN, NumberStyle
from workers.csv_cells import csv_lines

NONE = "–"
WORDS = (
    _("band"), _("engines"), _("group"), _("high"), _("key"), _("letter"), _("low"), _("max"), _("mean"),
    _("measured"), _("min"), _("overwritten"), _("relative"), _("reward"), _("run"), _("samples"), _("seed"),
    _("smoothed"), _("spread"), _("step"), _("tokens"), _("value"),
)  # fmt: skip
"""Names of columns that are words to translate, not keys."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval, None if they are not known. n: the number of observations."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: float | None = None


@dataclass(frozen=True)
class Mean:
    """A mean with its width, such as a standard deviation or error, and the number of values."""

    value: float | None
    width: float | None = None
    n: float | None = None


@dataclass(frozen=True)
class Ranks:
    """Range of ranks that the data leave open."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Badge:
    """A word about a row. tone: good, warn, bad or idle; empty for a quiet word. sign: drawn before a word with a
    tone on a page."""

    text: str
    tone: str = ""
    sign: str = ""


@dataclass(frozen=True)
class Link:
    """A text that leads to a page."""

    text: str
    url: str


@dataclass(frozen=True)
class Code:
    """A text of programs, such as an address or a hash. help: its tooltip."""

    text: str
    help: str = ""


@dataclass(frozen=True)
class Note:
    """A quiet remark on the value next to it."""

    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure next to a value."""

    html: SafeString


@dataclass(frozen=True)
class Absent:
    """Reason for a missing value; empty where there can be none. text: what a terminal shows. help: its tooltip."""

    reason: str
    text: str = NONE
    help: str = ""


Part: TypeAlias = (
    str | float | int | Provenance | Interval | Mean | Ranks | Badge | Link | Code | Note | Drawing | Absent | None
)
Cell: TypeAlias = Part | tuple[Part, ...]
"""A tuple is drawn on pages and in terminals, its parts one after the other."""
PARTS = {Interval: (" value", " low", " high"), Mean: (" mean", " std", " n")}
"""Ends of the names of a column's parts in CSV."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    key: its name in CSV. title: its heading elsewhere, the key if it is empty. kind: the type of its cells, by which it
    is aligned. style: how its numbers are written. parts: its names in CSV, if a cell holds several values. help: its
    tooltip. read_aloud: text after the title for screen readers. is_strong: whether values stand out. ends: in a
    terminal, the title of the column of its intervals; empty if value and interval share a column, None if it shows no
    intervals. tint: the CSS class of a cell. head: what pages show in place of the title.
    is_row_head: whether its cells are the headings of the rows, if those are not in the first column.
    """

    key: str
    title: str = ""
    kind: type = float
    style: NumberStyle = PLAIN
    parts: tuple[str, ...] = ()
    help: str = ""
    read_aloud: str = ""
    is_strong: bool = False
    ends: str | None = "interval"
    tint: Callable[[Any], str] | None = None
    head: Cell = None
    is_row_head: bool = False

    @property
    def heading(self) -> str:
        """Return the title, or the key of a column without one."""
        return self.title or self.key

    @property
    def is_text(self) -> bool:
        """Return whether the column is aligned to the left."""
        return self.kind in (str, Link, Badge, tuple)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the column's parts in CSV."""
        return self.parts or tuple(self.key + end for end in PARTS.get(self.kind, ("",)))

    def values(self, cell: Cell) -> tuple[str | float | int | None, ...]:
        """Return a value for each part, with every digit."""
        match cell:
            case None | Absent() | Drawing():
                return (None,) * len(self.names)
            case Interval(value, low, high):
                return value, low, high
            case Mean(value, width, n):
                return (value, width, n)[: len(self.names)]
            case Ranks(first, last):
                return first, last
            case Provenance() | Badge() | Link() | Code() | Note():
                return (cell.text,)
            case tuple():
                raise TypeError("a cell of several parts is for pages and terminals only")
        return (cell,)


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns. total: a last row of pages and LaTeX, not of CSV, None where a column has none."""

    columns: tuple[Column | str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()

    @property
    def typed(self) -> tuple[Column, ...]:
        """Return the columns; one that is given by its name has a translated title, and the type of its cells."""
        return tuple(
            _by_name(column, [row[place] for row in self.rows]) if isinstance(column, str) else column
            for place, column in enumerate(self.columns)
        )

    @property
    def heads(self) -> tuple[str, ...]:
        """Return the titles of the columns."""
        return tuple(column.heading for column in self.typed)

    def select(self, *keys: str, **titles: str) -> Table:
        """Return the columns with these keys, in this order; then those of `titles`, key -> another title."""
        places = {column.key: place for place, column in enumerate(self.typed)}
        chosen = [places[key] for key in (*keys, *titles)]
        columns = [replace(column, title=titles.get(column.key, column.title)) for column in self.typed]
        rows = tuple(tuple(row[place] for place in chosen) for row in self.rows)
        total = tuple(self.total[place] for place in chosen) if self.total else ()
        return Table(tuple(columns[place] for place in chosen), rows, total)

    def csv(self) -> str:
        """Return the table as CSV, with every digit and the same in every language."""
        columns = self.typed
        # Column names, too, hold users' texts: names of runs, contestants and keys.
        names = [name for column in columns for name in column.names]
        cells = (zip(columns, row, strict=True) for row in self.rows)
        rows = ([value for column, cell in row for value in column.values(cell)] for row in cells)
        return "".join(csv_lines([names, *rows]))


def _by_name(name: str, cells: Iterable[Cell]) -> Column:
    """Return the column of a name whose first word may be one of WORDS; a text after it, such as the smoothing, stays
    as it is."""
    word, space, more = name.partition(" ")
    kind = str if any(isinstance(cell, str | Provenance) for cell in cells) else float
    return Column(name, (gettext(word) if word in WORDS else word) + space + more, kind, MEASUREMENTS)
