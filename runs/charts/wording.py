"""Numbers and findings as people read them, in their language."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from numpy.typing import NDArray

MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"

X_WORDS = {
    "step": _("step"),
    "wall": _("time of day, UTC"),
    "relative": _("seconds since the run's first point"),
    "samples": _("answers scored in training"),
    "tokens": _("tokens generated in training"),
    "gpu_seconds": _("GPU seconds"),
}


def spoken(words: str) -> str:
    """Words that a module holds, in the reader's language. Of nothing gettext would say what is known of itself."""
    return gettext(words) if words else ""


def number(value: float | None, digits: int = 3) -> str:
    """A number with `digits` significant digits, a true minus and grouped thousands; – where there is none."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else MINUS + "∞"
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e9):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = 0 if size >= 10**digits or float(value).is_integer() else digits - 1 - _magnitude(size)
    return f"{value:,.{max(decimals, 0)}f}".replace(",", THIN).replace("-", MINUS)


def share(value: float | None) -> str:
    """A share as a whole number of percent."""
    return number(value) if value is None or not math.isfinite(value) else f"{round(100 * value)}{THIN}%"


def course(values: Sequence[float] | NDArray[np.float64], said: Callable[[float], str] = number) -> str:
    """Where a curve came from and got to, and how far it went meanwhile where that is not seen from its ends."""
    first, last = float(values[0]), float(values[-1])
    if len(values) == 1:
        return gettext("%(value)s, its only point") % {"value": said(last)}
    finite = np.asarray(values)[np.isfinite(values)]
    ends = [said(float(end)) for end in (finite.min(), finite.max())] if finite.size else []
    if said(first) != said(last) or set(ends) <= {said(last)}:
        return change(first, last, said)
    places = {"value": said(last), "low": ends[0], "high": ends[1]}
    return gettext("began and ended at %(value)s, between %(low)s and %(high)s") % places


def change(first: float, last: float, said: Callable[[float], str] = number) -> str:
    """Where a curve came from and got to."""
    if said(first) == said(last):
        return gettext("stayed at %(value)s") % {"value": said(last)}
    ends = {"first": said(first), "last": said(last)}
    if last > first:
        return gettext("rose from %(first)s to %(last)s") % ends
    return gettext("fell from %(first)s to %(last)s") % ends


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if size else 0
