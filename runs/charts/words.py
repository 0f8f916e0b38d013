"""Numbers and findings as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"

X_WORDS = {
    "step": "step",
    "wall": "time of day, UTC",
    "relative": "seconds since the run's first point",
    "samples": "answers scored in training",
    "tokens": "tokens generated in training",
    "gpu_seconds": "GPU seconds",
}
X_SHORT = {
    "step": "step",
    "wall": "time of day",
    "relative": "seconds",
    "samples": "samples",
    "tokens": "tokens",
    "gpu_seconds": "GPU seconds",
}


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
        return f"{said(last)}, its only point"
    finite = np.asarray(values)[np.isfinite(values)]
    ends = [said(float(end)) for end in (finite.min(), finite.max())] if finite.size else []
    if said(first) != said(last) or set(ends) <= {said(last)}:
        return change(first, last, said)
    return f"began and ended at {said(last)}, between {ends[0]} and {ends[1]}"


def change(first: float, last: float, said: Callable[[float], str] = number) -> str:
    """Where a curve came from and got to."""
    if said(first) == said(last):
        return f"stayed at {said(last)}"
    return f"{'rose' if last > first else 'fell'} from {said(first)} to {said(last)}"


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if size else 0
