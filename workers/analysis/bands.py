"""Curves of several seeds -> their mean and how far they lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Line: TypeAlias = tuple[Floats, Floats]

STD_FROM = 4
"""With fewer seeds a standard deviation says little, and the band is their whole range."""


@dataclass(frozen=True)
class Band:
    """The mean of `n` seeds at each x, and a band around it. x, mean, low, high: float64[points]."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: int

    @property
    def kind(self) -> str:
        """What the band shows, in words."""
        return "±1 std" if self.n >= STD_FROM else "min–max"


def band(lines: Sequence[Line]) -> Band:
    """Mean and band over the x range that all lines share, at every x of any of them; lines are interpolated between
    their points. The band is min–max below four lines, else ± the sample standard deviation.

    Only the shared range is used, so that `n` holds at every point and a mean never jumps where a seed begins or ends.
    Each line is (x, y), float64[n], ascending in x; points that are not finite are left out.
    """
    solid = [_finite(line) for line in lines]
    solid = [line for line in solid if len(line[0])]
    if not solid:
        nothing = np.zeros(0)
        return Band(nothing, nothing, nothing, nothing, 0)
    x = _shared([line[0] for line in solid])
    values = np.array([np.interp(x, *line) for line in solid])
    return Band(x, values.mean(axis=0), *_around(values), n=len(solid))


def _finite(line: Line) -> Line:
    x, y = line
    good = np.isfinite(x) & np.isfinite(y)
    return x[good], y[good]


def _shared(xs: Sequence[Floats]) -> Floats:
    start, end = max(x[0] for x in xs), min(x[-1] for x in xs)
    every = np.unique(np.concatenate(xs))
    shared: Floats = every[(every >= start) & (every <= end)]
    return shared


def _around(values: Floats) -> tuple[Floats, Floats]:
    if len(values) < STD_FROM:
        return values.min(axis=0), values.max(axis=0)
    mean, std = values.mean(axis=0), values.std(axis=0, ddof=1)
    return mean - std, mean + std
