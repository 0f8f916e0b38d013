"""The last values of a group of curves: their values at the last x that all of them have.

Curves of a group may end at different steps: a run failed, still runs, or has no finite value at its end. A mean over
each curve's own end would then compare different steps, and one over the curves that go on would leave out those that
failed. Sentences, mean lines, tables and comparisons all read the last value of a group here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Line: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True)
class LastValues:
    """The last values of a group. x: the last x that all curves have, None if they have none in common. values:
    float64[curves], NaN for a curve without a finite value, and everywhere if x is None. ends: the own last x of each
    curve that has a finite value."""

    x: float | None
    values: Floats
    ends: tuple[float, ...]

    @property
    def is_uneven(self) -> bool:
        """Return whether a curve goes on after x, or no x is common."""
        return any(end != self.x for end in self.ends)


def last_values(lines: Sequence[Line], *, share_points: bool = True) -> LastValues:
    """Return the last values of a group of curves, each (x, y), float64[n], ascending in x. Only finite values count,
    and a curve without one is no member of the group.

    share_points: True for an axis on which curves have points at the same x, such as the step: x is one at which each
    curve has a point. False for an axis on which they do not, such as a time: x is the last that every curve reaches,
    and values there are interpolated, as those of a mean line are.
    """
    solid = [finite_points(line) for line in lines]
    members = [line for line in solid if len(line[0])]
    ends = tuple(float(x[-1]) for x, _ in members)
    at = (_last_shared if share_points else _last_reached)([x for x, _ in members]) if members else None
    values = np.full(len(lines), np.nan)
    if at is not None:
        for i, (x, y) in enumerate(solid):
            if len(x):
                values[i] = y[np.searchsorted(x, at, side="right") - 1] if share_points else np.interp(at, x, y)
    return LastValues(at, values, ends)


def finite_points(line: Line) -> Line:
    """Return the points of a curve that are finite; the line itself if all are. Its x ascends."""
    x, y = line
    good = np.isfinite(y)
    # x ascends, so only its ends can be infinite.
    if len(x) and not np.isfinite(x[[0, -1]]).all():
        good &= np.isfinite(x)
    return line if good.all() else (x[good], y[good])


def _last_shared(columns: Sequence[Floats]) -> float | None:
    """Return the largest x that is in every column."""
    bound = min(float(x[-1]) for x in columns)
    if all(x[np.searchsorted(x, bound)] == bound for x in columns):
        return bound
    shared = columns[0]
    for x in columns[1:]:
        shared = shared[np.isin(shared, x)]
    return float(shared[-1]) if len(shared) else None


def _last_reached(columns: Sequence[Floats]) -> float | None:
    """Return the largest x between the first and the last of every column."""
    first, last = max(float(x[0]) for x in columns), min(float(x[-1]) for x in columns)
    return last if last >= first else None
