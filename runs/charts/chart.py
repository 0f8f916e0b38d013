"""A chart is never only a picture: it has a heading, a sentence, and its data as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from numpy.typing import NDArray

from runs.metrics import Provenance
from workers.csv_cells import inert

Floats: TypeAlias = NDArray[np.float64]
Cell: TypeAlias = str | float | int | Provenance | None
MEASURED = "measured"
"""The column that says how the held-out values of a row were measured."""
HEADS = (
    _("band"), _("engines"), _("group"), _("high"), _("key"), _("letter"), _("low"), _("max"), _("mean"),
    _("measured"), _("min"), _("overwritten"), _("relative"), _("reward"), _("run"), _("samples"), _("seed"),
    _("smoothed"), _("spread"), _("step"), _("tokens"), _("value"),
)  # fmt: skip
"""Columns whose names are words, not keys."""
SIGNIFICANT = 7
POWERS = np.array([float(f"1e{power}") for power in range(23)])
"""All powers of ten that a float64 holds exactly."""
SMALLEST, LARGEST = 1e-15, 1e28
"""Between them seven digits are a whole number times or by one of POWERS."""


@dataclass(frozen=True)
class Table:
    """Hold the data that a chart shows, as rows under named columns."""

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
        # Columns too hold what people wrote: names of runs, contestants and keys.
        writer.writerow(tuple(inert(column) for column in self.columns))
        writer.writerows(tuple(inert(_plain(cell)) for cell in row) for row in self.rows)
        return out.getvalue()


def _plain(cell: Cell) -> str | float | int | None:
    return cell.text if isinstance(cell, Provenance) else cell


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
    column = values if isinstance(values, np.ndarray) else np.fromiter(values, np.float64)
    rounded: list[float | None] = _shortened(column).tolist()
    for place in np.flatnonzero(~np.isfinite(column)).tolist():
        rounded[place] = None
    return rounded


def _shortened(values: Floats) -> Floats:
    """Seven significant digits: the float64 that is nearest to a whole number of seven digits times a power of ten."""
    size = np.abs(values)
    ordinary = (size > SMALLEST) & (size < LARGEST)
    usual, size = np.where(ordinary, values, 0.0), np.where(ordinary, size, 1.0)
    places = SIGNIFICANT - 1 - np.floor(np.log10(size)).astype(np.int64)
    scale = POWERS[np.abs(places)]
    short: Floats = np.where(places >= 0, np.rint(usual * scale) / scale, np.rint(usual / scale) * scale)
    for place in np.flatnonzero(~ordinary & (values != 0)).tolist():
        short[place] = float(f"{values[place]:.{SIGNIFICANT}g}")
    return short
