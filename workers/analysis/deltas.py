"""Compare the means of two settings' final numbers with the spread of their seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Delta:
    """The difference of a setting's mean from the baseline's mean.

    spread: the pooled sample standard deviation of the seeds, None if a side has only one: one seed tells nothing about
    the others. apart: no seed of one side is within the range of the other. chance: the probability of that if both
    sides have the same distribution, 0 to 1.
    """

    difference: float
    spread: float | None
    apart: bool
    chance: float

    @property
    def times(self) -> float | None:
        """The size of the difference as a multiple of the spread; None without a spread, or if the seeds agree."""
        return abs(self.difference) / self.spread if self.spread else None

    @property
    def exceeds(self) -> bool | None:
        """Return whether the difference is larger than the seeds' spread; None if that is not known."""
        return None if self.spread is None else abs(self.difference) > self.spread


def delta(values: Sequence[float], baseline: Sequence[float]) -> Delta:
    """Return the difference of two settings' final numbers, one a seed, all finite. Raise ValueError if a side is
    empty."""
    if not values or not baseline:
        raise ValueError("each side needs at least one value")
    a, b = np.asarray(values, np.float64), np.asarray(baseline, np.float64)
    several = min(len(a), len(b)) > 1
    freedom = len(a) + len(b) - 2
    spread = math.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom) if several else None
    apart = bool(a.min() > b.max() or a.max() < b.min())
    return Delta(float(a.mean() - b.mean()), spread, apart, separation_by_chance(len(a), len(b)))


def separation_by_chance(n: int, m: int) -> float:
    """Return the chance that all of `n` values are on one side of all of `m`, if any order of them is as likely as any
    other.

    Two of the C(n + m, n) orders: the least p of the two-sided Mann-Whitney test, exact for values without ties.
    """
    return min(1.0, 2 / math.comb(n + m, n))
