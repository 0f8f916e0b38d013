"""Curves of several seeds -> their middle and how far they lie apart, with how many there are at each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from workers.analysis.middles import MIDDLES, SPREADS, Floats, around, middle

Line: TypeAlias = tuple[Floats, Floats]
Ints: TypeAlias = NDArray[np.int64]

STD_FROM = 4
"""With fewer seeds a standard deviation says little, and the band is their whole range."""
AUTO = "auto"


@dataclass(frozen=True)
class Band:
    """The middle of several seeds at each x, and a band around it. x, middle, low, high: float64[points]; n:
    int64[points], how many seeds there are at each; low and high are NaN where one is alone.

    center: one of MIDDLES. spread: one of SPREADS.
    """

    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    n: Ints
    center: str = "mean"
    spread: str = "range"

    @property
    def most(self) -> int:
        """How many seeds there are where most of them are."""
        return int(self.n.max(initial=0))

    @property
    def kind(self) -> str:
        """What the band shows, in words."""
        return SPREADS[self.spread]


def band(lines: Sequence[Line], center: str = "mean", spread: str = AUTO) -> Band:
    """The middle and the band at every x of any line; a line counts from its first point to its last and is
    interpolated in between, so that a seed that ended early neither hides the others nor is made up.

    center: mean, median or iqm. spread: auto (range below four lines, else std) or one of SPREADS.
    Each line is (x, y), float64[n], ascending in x; points that are not finite are left out. Raises ValueError for an
    unknown center or spread.
    """
    if center not in MIDDLES or spread not in (AUTO, *SPREADS):
        raise ValueError(
            f"center must be one of {', '.join(MIDDLES)} and spread one of {', '.join((AUTO, *SPREADS))}, "
            f"not {center!r} and {spread!r}"
        )
    solid = [line for line in map(_finite, lines) if len(line[0])]
    if spread == AUTO:
        spread = "range" if len(solid) < STD_FROM else "std"
    if not solid:
        nothing = np.zeros(0)
        return Band(nothing, nothing, nothing, nothing, np.zeros(0, np.int64), center, spread)
    x, values = _on_one_axis(solid)
    n = (~np.isnan(values)).sum(axis=0)
    # Between the end of one seed and the start of another there may be nobody.
    x, values, n = x[n > 0], values[:, n > 0], n[n > 0]
    low, high = around(values, center, spread)
    return Band(
        x, middle(values, center), np.where(n > 1, low, np.nan), np.where(n > 1, high, np.nan), n, center, spread
    )


def _on_one_axis(lines: Sequence[Line]) -> tuple[Floats, NDArray[np.float64]]:
    """Every x of any line, and float64[lines, points]: each line's value there, NaN before its first and after its
    last point. Seeds that were evaluated at the same points, as most are, have nothing to interpolate."""
    x = lines[0][0]
    if (x[1:] > x[:-1]).all() and all(np.array_equal(x, own) for own, _ in lines[1:]):
        return x, np.array([y for _, y in lines])
    x = np.unique(np.concatenate([own for own, _ in lines]))
    return x, np.array([np.interp(x, *line, left=np.nan, right=np.nan) for line in lines])


def _finite(line: Line) -> Line:
    x, y = line
    good = np.isfinite(x) & np.isfinite(y)
    return x[good], y[good]
