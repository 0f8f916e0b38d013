"""A chart is never only a picture: it has a heading, a sentence, and its data as a table."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

Cell: TypeAlias = str | float | int | None
HEADS = (
    _("band"), _("group"), _("high"), _("key"), _("letter"), _("low"), _("max"), _("mean"), _("min"), _("overwritten"),
    _("relative"), _("reward"), _("run"), _("samples"), _("seed"), _("smoothed"), _("spread"), _("step"), _("tokens"),
    _("value"),
)  # fmt: skip
"""Columns whose names are words, not keys."""


@dataclass(frozen=True)
class Table:
    """What a chart shows, as rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def heads(self) -> tuple[str, ...]:
        """The columns as a page names them; what else is said of one, such as how it is smoothed, stays."""
        parts = (column.partition(" ") for column in self.columns)
        return tuple((gettext(name) if name in HEADS else name) + space + more for name, space, more in parts)

    def csv(self) -> str:
        """The table as CSV, with every digit, the same in every language."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(self.columns)
        writer.writerows(tuple(_inert(cell) for cell in row) for row in self.rows)
        return out.getvalue()


@dataclass(frozen=True)
class Chart:
    """A figure (plotly JSON) with its words. `keys` are the series that it is drawn from.

    Without a figure it waits to be drawn: a page with hundreds asks for each when somebody gets there.
    """

    name: str
    title: str
    summary: str
    figure: dict[str, Any]
    table: Table
    keys: tuple[str, ...] = ()
    help: str = ""

    @property
    def slug(self) -> str:
        """The name as an HTML id."""
        return slugify(self.name.replace("/", "-"))

    @property
    def keys_json(self) -> str:
        """The keys as JSON, for the page's script."""
        return json.dumps(self.keys)

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to draw yet."""
        return not self.figure.get("data", ["is not known yet"])


def numbers(values: Iterable[float]) -> list[float | None]:
    """Values as strict JSON: what is not finite becomes a gap. Seven digits draw any line to the pixel."""
    return [float(f"{v:.7g}") if math.isfinite(v) else None for v in values]


def _inert(cell: Cell) -> Cell:
    """Text that a spreadsheet would run as a formula is quoted: names in a table are written by people."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
