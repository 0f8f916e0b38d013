"""Sentences that describe a chart: the course of a curve, and its groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from runs.charts.axes import unit_of
from runs.charts.chart import Floats
from runs.metrics import HIGHER, good_direction
from runs.tables import MINUS, THIN, number, share
from workers.records.times import to_datetime

MAX_DESCRIBED_GROUPS = 4
"""A chart describes at most so many groups each; of more, only those with the extreme last values."""
POSITIONS = {
    "step": _("step %(x)s"),
    "wall": _("%(x)s UTC"),
    "relative": _("%(x)s s"),
    "samples": _("%(x)s responses"),
    "tokens": _("%(x)s tokens"),
    "gpu_seconds": _("%(x)s GPU seconds"),
}
"""Names of a point of each axis."""


def value_format(key: str, is_share: bool) -> Callable[[float], str]:
    """Return the function that formats a value of this key in sentences: in percent, or with its unit if it has one."""
    if is_share:
        return share
    unit = unit_of(key)
    return (lambda value: f"{number(value)}{THIN}{unit}") if unit else number


def describe_groups(key: str, groups: Sequence[tuple[str, float]]) -> str:
    """Return what a chart says of its groups. `groups`: the text about each, and its last value of this key.

    Of more than MAX_DESCRIBED_GROUPS, it says their number and describes those with the highest and the lowest value.
    """
    ranked = sorted((value, text) for text, value in groups if math.isfinite(value))
    if len(groups) <= MAX_DESCRIBED_GROUPS or len(ranked) < 2:
        return f"{'; '.join(text for text, _value in groups)}." if groups else ""
    params = {"n": len(groups), "high": ranked[-1][1], "low": ranked[0][1]}
    if good_direction(key) == HIGHER:
        message = ngettext(
            "%(n)s group. Best last value: %(high)s. Worst last value: %(low)s.",
            "%(n)s groups. Best last value: %(high)s. Worst last value: %(low)s.", len(groups),
        )  # fmt: skip
    else:
        message = ngettext(
            "%(n)s group. Highest last value: %(high)s. Lowest last value: %(low)s.",
            "%(n)s groups. Highest last value: %(high)s. Lowest last value: %(low)s.", len(groups),
        )  # fmt: skip
    return message % params


def until_in_words(n: int, end: float, last: float, axis: str) -> str:
    """Return the number of a group's runs, the last x that all of them have, and where the longest ends. `axis` is one
    of X_WORDS."""
    params = {"n": n, "end": _position(end, axis), "last": _position(last, axis)}
    return gettext("n = %(n)s until %(end)s, the last that all runs have; the longest continues to %(last)s") % params


def no_common_point(n: int) -> str:
    """Return the reason why a group of n runs has no last value, as the end of a sentence about it."""
    return gettext("has no last value, because its %(n)s runs have no point in common") % {"n": n}


def course(
    values: Sequence[float] | Floats,
    format_value: Callable[[float], str] = number,
    x: Sequence[float] | Floats | None = None,
    axis: str = "step",
) -> str:
    """Describe a curve by its first and last value, and by an extreme that lies far outside of them.

    Values that are equal as printed stayed there, if no other value differs as printed. `format_value` formats a value.
    With `x`, the values' positions along `axis` (one of X_WORDS), a far extreme is described with its position: see
    `far_extreme` for the rule.
    """
    first, last = float(values[0]), float(values[-1])
    if len(values) == 1:
        return gettext("%(value)s, its only point") % {"value": format_value(last)}
    if _is_printed_alike(first, last, format_value):
        finite = _finite(np.asarray(values))
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (last, last)
        if _is_printed_alike(low, last, format_value) and _is_printed_alike(high, last, format_value):
            return change(first, last, format_value)
        params = {"value": format_value(last), "low": format_value(low), "high": format_value(high)}
        return gettext("began and ended at %(value)s, between %(low)s and %(high)s") % params
    has_ends = math.isfinite(first) and math.isfinite(last)
    extreme = far_extreme(values, x, format_value) if x is not None and has_ends else None
    if extreme is None:
        return change(first, last, format_value)
    params = {"first": format_value(first), "last": format_value(last), **extreme.params(format_value, axis)}
    if last > first and extreme.is_maximum:
        message = gettext("rose from %(first)s to %(last)s, with a maximum of %(extreme)s at %(position)s")
    elif last > first:
        message = gettext("rose from %(first)s to %(last)s, with a minimum of %(extreme)s at %(position)s")
    elif extreme.is_maximum:
        message = gettext("fell from %(first)s to %(last)s, with a maximum of %(extreme)s at %(position)s")
    else:
        message = gettext("fell from %(first)s to %(last)s, with a minimum of %(extreme)s at %(position)s")
    return message % params


def change(first: float, last: float, format_value: Callable[[float], str] = number) -> str:
    """Describe the change from the first to the last value: stayed, rose, fell, or went if one of them is not a number.
    Values that are equal as printed, such as 1 and 1.00, stayed. `format_value` formats a value."""
    if _is_printed_alike(first, last, format_value):
        return gettext("stayed at %(value)s") % {"value": format_value(last)}
    params = {"first": format_value(first), "last": format_value(last)}
    if last > first:
        return gettext("rose from %(first)s to %(last)s") % params
    if last < first:
        return gettext("fell from %(first)s to %(last)s") % params
    return gettext("went from %(first)s to %(last)s") % params


@dataclass(frozen=True)
class Extreme:
    """The largest or the smallest value of a curve, and its position x."""

    value: float
    x: float
    is_maximum: bool
    excess: float
    """Distance from the range of the first and the last value."""

    def params(self, format_value: Callable[[float], str], axis: str) -> dict[str, str]:
        """Return the parameters `extreme` and `position` of a sentence. `axis` is one of X_WORDS."""
        return {"extreme": format_value(self.value), "position": _position(self.x, axis)}


def far_extreme(
    values: Sequence[float] | Floats, x: Sequence[float] | Floats, format_value: Callable[[float], str] = number
) -> Extreme | None:
    """Return the largest or smallest value if the curve's ends alone would misrepresent it, else None.

    A value does so if it lies outside the range of the first and the last value by more than half of the curve's whole
    range (its largest minus its smallest value), and differs from both as printed. At most one of the two can. Values
    that are not finite are left out.
    """
    y, at = np.asarray(values, np.float64), np.asarray(x, np.float64)
    if not (is_finite := np.isfinite(y)).all():
        y, at = y[is_finite], at[is_finite]
    if not y.size:
        return None
    first, last = float(y[0]), float(y[-1])
    top, bottom = int(np.argmax(y)), int(np.argmin(y))
    candidates = (
        Extreme(float(y[top]), float(at[top]), True, float(y[top]) - max(first, last)),
        Extreme(float(y[bottom]), float(at[bottom]), False, min(first, last) - float(y[bottom])),
    )
    half = float(y[top] - y[bottom]) / 2
    for extreme in candidates:
        if extreme.excess > half and not any(
            _is_printed_alike(extreme.value, end, format_value) for end in (first, last)
        ):
            return extreme
    return None


def _finite(values: Floats) -> Floats:
    return values if (is_finite := np.isfinite(values)).all() else values[is_finite]


def _position(x: float, axis: str) -> str:
    """Return a position on an axis as a noun phrase: `step 40`."""
    time = to_datetime(x) if axis == "wall" else None
    text = number(x) if time is None else f"{time:%Y-%m-%d %H:%M}"
    return gettext(POSITIONS[axis]) % {"x": text}


def _is_printed_alike(a: float, b: float, format_value: Callable[[float], str]) -> bool:
    """Return whether two values are equal at the printed precision: `1` and `1.00` are."""
    return _printed_value(format_value(a)) == _printed_value(format_value(b))


def _printed_value(text: str) -> float | str:
    """Return the number that a formatted text shows; the text itself if that is not a number, as for NaN and ∞."""
    try:
        value = float(text.replace(THIN, "").replace(MINUS, "-").rstrip("%GMB"))
    except ValueError:
        return text
    return text if math.isnan(value) else value
