"""Summarise curves of several seeds: their middle, a band around it, and the number of seeds at each point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.aggregate import MIDDLES, SPREADS, Floats, around, middle
from workers.analysis.last_values import Line, finite_points, last_values

Ints: TypeAlias = NDArray[np.int64]

STD_FROM = 4
"""Below this number of seeds a standard deviation means little, and the band is their whole range."""
AUTO = "auto"
BATCH_SIZE = 2**16
"""Numbers of all seeds together, of which half a megabyte is summed up at a time."""


@dataclass(frozen=True)
class Band:
    """The middle of several seeds at each x, and a band around it. x, middle, low, high: float64[points]; n:
    int64[points], how many seeds there are at each; low and high are NaN where one is alone.

    center: one of MIDDLES. spread: one of SPREADS. seeds: the number of seeds that have a point. end: the last x that
    all of them have (`last_values`), NaN if there is none; beyond it, the middle is that of fewer seeds.
    """

    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    n: Ints
    center: str = "mean"
    spread: str = "range"
    seeds: int = 0
    end: float = np.nan

    @property
    def most(self) -> int:
        """The number of seeds where most of them are present."""
        return int(self.n.max(initial=0))

    @property
    def is_uneven(self) -> bool:
        """Return whether a seed goes on after the last x that all have, or no x is common."""
        return len(self.x) > 0 and bool(self.x[-1] != self.end)

    @property
    def kind(self) -> str:
        """The name of the spread that the band shows."""
        return SPREADS[self.spread]


def band(lines: Sequence[Line], center: str = "mean", spread: str = AUTO, *, share_points: bool = True) -> Band:
    """Return the middle and the band at every x of any line. A line counts from its first point to its last and is
    interpolated in between, so that a seed that ended early neither hides the others nor is made up.

    share_points: whether the lines have points at the same x, as along steps (see `last_values`).
    center: mean, median or iqm. spread: auto (range below four lines, else std) or one of SPREADS.
    Each line is (x, y), float64[n], ascending in x; points that are not finite are left out. Raise ValueError for an
    unknown center or spread.
    """
    if center not in MIDDLES or spread not in (AUTO, *SPREADS):
        raise ValueError(
            f"center must be one of {', '.join(MIDDLES)} and spread one of {', '.join((AUTO, *SPREADS))}, "
            f"not {center!r} and {spread!r}"
        )
    solid = [line for line in map(finite_points, lines) if len(line[0])]
    if spread == AUTO:
        spread = "range" if len(solid) < STD_FROM else "std"
    if not solid:
        nothing = np.zeros(0)
        return Band(nothing, nothing, nothing, nothing, np.zeros(0, np.int64), center, spread)
    x, columns, are_complete = _on_one_axis(solid)
    center_values, low, high = np.empty((3, len(x)))
    n = np.empty(len(x), np.int64)
    for part in _parts(len(x), len(columns)):
        values = np.array([column[part] for column in columns])
        n[part] = len(columns) if are_complete else (~np.isnan(values)).sum(axis=0)
        center_values[part] = middle(values, center)
        low[part], high[part] = around(values, center, spread, center_values[part])
    low[n < 2] = high[n < 2] = np.nan
    end = last_values(solid, share_points=share_points).x
    return Band(x, center_values, low, high, n, center, spread, len(solid), np.nan if end is None else end)


def _parts(points: int, seeds: int) -> Iterator[slice]:
    """Yield the points in slices that stay in the processor's cache while they are summed up."""
    width = max(1, BATCH_SIZE // seeds)
    return (slice(start, start + width) for start in range(0, points, width))


def _on_one_axis(lines: Sequence[Line]) -> tuple[Floats, list[Floats], bool]:
    """Return every x of any line at which there is a value, each line's values there, float64[points], and whether each
    line has a value at each x: it is NaN before its first and after its last point. Seeds that were evaluated at the
    same points, as most are, have nothing to interpolate."""
    x = lines[0][0]
    if (x[1:] > x[:-1]).all() and all(own is x or np.array_equal(x, own) for own, _ in lines[1:]):
        return x, [y for _, y in lines], True
    x = np.unique(np.concatenate([own for own, _ in lines]))
    columns = [np.interp(x, *line, left=np.nan, right=np.nan) for line in lines]
    # Between the end of one seed and the start of another, no seed may be present.
    covered = ~np.logical_and.reduce([np.isnan(column) for column in columns])
    return (x, columns, False) if covered.all() else (x[covered], [column[covered] for column in columns], False)
