"""Measure how well a constraint J_C ≤ d held over a training: time in violation, overshoot, settling time.

The words are those of control theory (step responses; Ogata, Modern Control Engineering, chapter 5), for a target that
is a bound: being below it is no error. A value holds until the next one is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.analysis.aggregate import Floats

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ConstraintSummary:
    """Numbers of one training. x is in the units of the measured axis, J_C in those of the cost.

    violated: the length of x over which J_C > d; share: that of the whole, None of a single point.
    worst: the largest J_C - d, None if it was never violated.
    met_at: the x at which J_C ≤ d for the first time, counted from the start; None if it never was.
    overshoot: the largest J_C - d after it was first met, 0.0 if it was never violated again; None if never met.
    settled_at: the x, counted from the start, from which on J_C ≤ d until the end; None if its last value violates.
    """

    violated: float
    share: float | None
    worst: float | None
    met_at: float | None
    overshoot: float | None
    settled_at: float | None


@dataclass(frozen=True)
class Peak:
    """The largest λ, how far it was above the last one, relative to that, and its x, counted from the start."""

    value: float
    above_last: float | None
    at: float


def summarise_constraint(x: Floats, j_c: Floats, threshold: Floats | float = 0.0) -> ConstraintSummary | None:
    """Summarise J_C ≤ d. x, j_c: float64[n], x ascending; threshold: d, at each point or one for all. Points that are
    not finite are left out, and the value before applies there. Return None if no point is left."""
    excess = np.asarray(j_c, np.float64) - threshold
    good = np.isfinite(x) & np.isfinite(excess)
    x, excess = x[good], excess[good]
    if not len(x):
        return None
    over = excess > 0
    violated = float(np.diff(x)[over[:-1]].sum())
    whole = float(x[-1] - x[0])
    met = np.flatnonzero(~over)
    return ConstraintSummary(
        violated=violated,
        share=violated / whole if whole > 0 else None,
        worst=float(excess.max()) if over.any() else None,
        met_at=float(x[met[0]] - x[0]) if len(met) else None,
        overshoot=max(0.0, float(excess[met[0] :].max())) if len(met) else None,
        settled_at=_settled_at(x, over),
    )


@dataclass(frozen=True)
class Stay:
    """A λ that stays on one of its limits, at its last value and the `points` - 1 before; `since`: the x, counted from
    the start."""

    is_most: bool
    limit: float
    since: float
    points: int


def find_stay(x: Floats, multiplier: Floats, lower: float, upper: float) -> Stay | None:
    """Return where λ, float64[n] like its x, stays on a limit of [lower, upper]; None if its last value is between
    them."""
    good = np.isfinite(x) & np.isfinite(multiplier)
    x, multiplier = x[good], multiplier[good]
    for limit, is_most in ((lower, False), (upper, True)):
        off = np.flatnonzero(~np.isclose(multiplier, limit, rtol=1e-9, atol=0.0))
        first = int(off[-1]) + 1 if len(off) else 0
        if first < len(x):
            return Stay(is_most, limit, float(x[first] - x[0]), len(x) - first)
    return None


def find_peak(x: Floats, multiplier: Floats) -> Peak | None:
    """Return the peak of λ, float64[n] like its x; None if no point is finite. above_last is None if the last λ is
    0."""
    good = np.isfinite(x) & np.isfinite(multiplier)
    x, multiplier = x[good], multiplier[good]
    if not len(x):
        return None
    i, last = int(multiplier.argmax()), float(multiplier[-1])
    return Peak(float(multiplier[i]), float(multiplier[i]) / last - 1 if last else None, float(x[i] - x[0]))


def _settled_at(x: Floats, over: Bools) -> float | None:
    if over[-1]:
        return None
    violated = np.flatnonzero(over)
    return float(x[violated[-1] + 1] - x[0]) if len(violated) else 0.0
