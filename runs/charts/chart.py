"""Charts and their texts: each has a heading, a summary sentence and its data as a table, with readable numbers."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
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
"""Name of the column that describes how the held-out values of a row were measured."""
HEADS = (
    _("band"), _("engines"), _("group"), _("high"), _("key"), _("letter"), _("low"), _("max"), _("mean"),
    _("measured"), _("min"), _("overwritten"), _("relative"), _("reward"), _("run"), _("samples"), _("seed"),
    _("smoothed"), _("spread"), _("step"), _("tokens"), _("value"),
)  # fmt: skip
"""Names of columns that are words to translate, not keys."""
SEPARATED = frozenset(":@^")
"""Characters that distinguish names of charts, such as pass@4 and pass^4, but that ids omit."""
SIGNIFICANT = 7
POWERS = np.array([float(f"1e{power}") for power in range(23)])
"""Powers of ten, 1e0 to 1e22: all that a float64 holds exactly."""
SMALLEST, LARGEST = 1e-15, 1e28
"""Limits between which a value of seven digits is a whole number times, or divided by, one of POWERS."""


@dataclass(frozen=True)
class Table:
    """Hold the data that a chart shows, as rows under named columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def heads(self) -> tuple[str, ...]:
        """Return the columns with translated names; text after the name, such as the smoothing, stays as it is."""
        parts = (column.partition(" ") for column in self.columns)
        return tuple((gettext(name) if name in HEADS else name) + space + more for name, space, more in parts)

    def csv(self) -> str:
        """Return the table as CSV, with every digit and the same in every language."""
        out = io.StringIO()
        writer = csv.writer(out)
        # Column names, too, hold users' texts: names of runs, contestants and keys.
        writer.writerow(tuple(inert(column) for column in self.columns))
        writer.writerows(tuple(inert(_plain(cell)) for cell in row) for row in self.rows)
        return out.getvalue()


def _plain(cell: Cell) -> str | float | int | None:
    return cell.text if isinstance(cell, Provenance) else cell


@dataclass(frozen=True)
class Chart:
    """A figure (plotly JSON) with its texts. `keys` are the series that it is drawn from.

    An empty `figure` is not drawn yet: a page with hundreds of charts fetches each one when it scrolls into view.
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
        """Return the name as an HTML id. A digest is added to names that may differ only in signs."""
        slug = slugify(self.name.replace("/", "-"))
        return f"{slug}-{sha256(self.name.encode()).hexdigest()[:6]}" if SEPARATED & set(self.name) else slug

    @property
    def keys_json(self) -> str:
        """Return the keys as JSON, for the page's script."""
        return json.dumps(self.keys)

    @property
    def is_empty(self) -> bool:
        """Return whether the figure is drawn but has no data yet; False for a figure that is not drawn yet."""
        return not self.figure.get("data", ["is not known yet"])

    @property
    def is_zero(self) -> bool:
        """Return whether every drawn value is 0: the metric stayed at 0."""
        values = [value for trace in self.figure.get("data", ()) for value in trace.get("y", ()) if value is not None]
        return bool(values) and not any(values)


def numbers(values: Iterable[float]) -> list[float | None]:
    """Return the values for strict JSON, with seven significant digits; None in place of values that are not finite."""
    column = values if isinstance(values, np.ndarray) else np.fromiter(values, np.float64)
    rounded: list[float | None] = _shortened(column).tolist()
    for index in np.flatnonzero(~np.isfinite(column)).tolist():
        rounded[index] = None
    return rounded


def places(x: Floats, axis: str) -> list[float | None]:
    """Return x values for the page, with ten significant digits and None for a gap (NaN): times of day in milliseconds
    since 1970, as a date axis requires."""
    if axis == "step" and (np.abs(x) < MAX_EXACT_STEP).all() and (x == np.rint(x)).all():
        exact: list[float | None] = x.tolist()
        return exact
    if axis == "wall":
        return [round(1000 * v) if math.isfinite(v) else None for v in x.tolist()]
    return [float(f"{v:.10g}") if math.isfinite(v) else None for v in x.tolist()]


def _shortened(values: Floats) -> Floats:
    """Round to seven significant digits: to the float64 nearest to a seven-digit whole number times a power of ten."""
    size = np.abs(values)
    ordinary = (size > SMALLEST) & (size < LARGEST)
    ordinary_values, size = np.where(ordinary, values, 0.0), np.where(ordinary, size, 1.0)
    places = SIGNIFICANT - 1 - np.floor(np.log10(size)).astype(np.int64)
    scale = POWERS[np.abs(places)]
    short: Floats = np.where(
        places >= 0, np.rint(ordinary_values * scale) / scale, np.rint(ordinary_values / scale) * scale
    )
    for index in np.flatnonzero(~ordinary & (values != 0)).tolist():
        short[index] = float(f"{values[index]:.{SIGNIFICANT}g}")
    return short


MAX_EXACT_STEP = 1e10
MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"
X_WORDS = {
    "step": _("step"),
    "wall": _("time of day, UTC"),
    "relative": _("seconds since the run's first point"),
    "samples": _("responses scored in training"),
    "tokens": _("tokens generated in training"),
    "gpu_seconds": _("GPU seconds"),
}


def spoken(words: str) -> str:
    """Translate a module's text into the reader's language. Empty text stays empty: gettext would return its header."""
    return gettext(words) if words else ""


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, a true minus sign and grouped thousands; – if it is None."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else MINUS + "∞"
    value = value or 0.0  # Without the sign of −0.0.
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e9):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = 0 if size >= 10**digits or float(value).is_integer() else digits - 1 - _magnitude(size)
    return f"{value:,.{max(decimals, 0)}f}".replace(",", THIN).replace("-", MINUS)


def share(value: float | None) -> str:
    """Format a share as a whole number of percent; – if it is None."""
    return number(value) if value is None or not math.isfinite(value) else f"{round(100 * value)}{THIN}%"


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if size else 0
