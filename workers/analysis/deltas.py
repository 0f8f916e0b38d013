"""Compare the means of two settings' final numbers by tests on their seeds.

Welch's t     of the difference of the means, for settings whose spreads may differ (Welch 1947). It assumes that seeds
              vary normally, and needs two seeds on each side that are not all equal.
permutation   exact: the share of all divisions of the seeds into two groups of these sizes whose difference is at least
              as large (Fisher 1935), twice the smaller tail. It assumes only that equal settings have one distribution,
              but its smallest p is 2 / C(n + m, n): 1/3 for 2 + 2 seeds, 1/10 for 3 + 3, 1/35 for 4 + 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from workers.analysis.student_t import two_sided_p

LEVEL = 0.05
"""A permutation test whose smallest p is above it can contradict nothing, and accompanies no Welch test."""
MAX_DIVISIONS = 20_000
"""Divisions of the seeds that a permutation test goes through at most: those of 8 + 8 seeds are 12 870."""
TOLERANCE = 1e-12
"""Relative distance at which two sums of seeds count as equal."""


@dataclass(frozen=True)
class Delta:
    """The difference of a setting's mean from the baseline's mean.

    n, base_n: numbers of seeds. welch: the p-value of Welch's t, two-sided; None if a side has one seed, or if the
    seeds of each side are all equal. permutation: that of the exact permutation test, two-sided; None if a side has one
    seed, if it has more than MAX_DIVISIONS divisions, or if Welch's t applies and its smallest p is above LEVEL.
    """

    difference: float
    n: int
    base_n: int
    welch: float | None = None
    permutation: float | None = None


def delta(values: Sequence[float], baseline: Sequence[float]) -> Delta:
    """Return the difference of two settings' final numbers, one a seed, all finite. Raise ValueError if a side is
    empty."""
    if not values or not baseline:
        raise ValueError("each side needs at least one value")
    a, b = np.asarray(values, np.float64), np.asarray(baseline, np.float64)
    difference = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Delta(difference, len(a), len(b))
    welch = welch_p(a, b)
    has_permutation = welch is None or smallest_p(len(a), len(b)) <= LEVEL
    return Delta(difference, len(a), len(b), welch, permutation_p(a, b) if has_permutation else None)


def welch_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    """Return the two-sided p-value of Welch's t, for at least two values a side; None if each side's are all equal."""
    size = max(float(np.abs(side - side[0]).max()) for side in (a, b))
    if size == 0:
        return None
    # In units of the largest distance, squares neither overflow nor vanish.
    squares = [float(np.var((side - side[0]) / size, ddof=1)) / len(side) for side in (a, b)]
    total = sum(squares)
    freedom = total**2 / sum(square**2 / (len(side) - 1) for square, side in zip(squares, (a, b), strict=True))
    return two_sided_p(float(a.mean() - b.mean()) / size / math.sqrt(total), freedom)


def smallest_p(n: int, m: int) -> float:
    """Return the smallest two-sided p-value that a permutation test of n and m seeds can have."""
    return min(1.0, 2 / math.comb(n + m, n))


def permutation_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    """Return the exact two-sided p-value of the difference of the means; None above MAX_DIVISIONS divisions."""
    if math.comb(len(a) + len(b), len(a)) > MAX_DIVISIONS:
        return None
    values = np.concatenate([a, b])
    # The sum of one side decides the difference of the means. Sums of equal values may differ by rounding.
    sums = values[_divisions(len(a), len(b))].sum(axis=1)
    tolerance = TOLERANCE * float(np.abs(values).sum())
    above, below = np.mean(sums >= sums[0] - tolerance), np.mean(sums <= sums[0] + tolerance)
    return min(1.0, 2 * float(min(above, below)))


@cache
def _divisions(n: int, m: int) -> NDArray[np.int8]:
    """Return int8[divisions, n], the positions of each choice of n out of n + m values; the first n come first."""
    count = math.comb(n + m, n) * n
    return np.fromiter(chain.from_iterable(combinations(range(n + m), n)), np.int8, count).reshape(-1, n)
