"""Charts and their texts: each has a heading, a summary sentence and its data as a table, with readable numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from numpy.typing import NDArray

from runs.metrics.metric_charts import chart_of
from runs.tables import Table

Floats: TypeAlias = NDArray[np.float64]
MEASURED = "measured"
"""Name of the column that describes how the held-out values of a row were measured."""
SEPARATED = frozenset(":@^")
"""Characters that distinguish names of charts, such as pass@4 and pass^4, but that ids omit."""
SIGNIFICANT = 7
POWERS = np.array([float(f"1e{power}") for power in range(23)])
"""Powers of ten, 1e0 to 1e22: all that a float64 holds exactly."""
SMALLEST, LARGEST = 1e-15, 1e28
"""Limits between which a value of seven digits is a whole number times, or divided by, one of POWERS."""


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
        """Return the name as an HTML id."""
        return _slug_of(self.name)

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


@lru_cache(256)
def chart_slug(key: str) -> str:
    """Return the HTML id of the chart that draws a key on the page of a run."""
    chart = chart_of(key)
    return _slug_of(chart.name if chart else key)


def _slug_of(name: str) -> str:
    """Return a chart's name as an HTML id. A digest is added to names that may differ only in signs."""
    slug = slugify(name.replace("/", "-"))
    return f"{slug}-{sha256(name.encode()).hexdigest()[:6]}" if SEPARATED & set(name) else slug


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
