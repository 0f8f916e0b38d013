"""Tails of the cosine of two independent changes, also of low rank.

√n times the cosine has mean 0 and variance 1. For independent elements it is nearly normal. For changes of rank 1 it is
a product of two independent normal numbers, which is often far larger (n being the number of all elements, the
variance is the same). Between the two it is Σ √κ GᵢHᵢ over 1/κ pairs of normal numbers, with excess kurtosis 6κ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import torch

NORMAL_BELOW = 1e-6
"""Share of kurtosis below which the normal distribution is used."""
LEVELS_PER_DOUBLING = 4
GRID, WIDTH, HALVINGS = 4001, 30.0, 60


def tail_probability(z: float, kurtosis: float) -> float:
    """Return P(|S| > z) of S = Σ √κ GᵢHᵢ with κ = `kurtosis` from 0 (normal) to 1 (product of two normal numbers).

    Given H, S is normal with the variance κ χ² of 1/κ degrees of freedom: the normal tail is averaged over its
    logarithm, by sums over a grid.
    """
    if kurtosis < NORMAL_BELOW:
        return math.erfc(z / math.sqrt(2))
    freedom = 1 / kurtosis
    spread = math.sqrt(2 / freedom)
    highest = math.log1p(60 * math.sqrt(kurtosis) + 60 * kurtosis + 4 * z * math.sqrt(kurtosis))
    log_variance = torch.linspace(-WIDTH * spread, highest, GRID, dtype=torch.float64)
    weights = torch.softmax(freedom / 2 * (log_variance - torch.expm1(log_variance)), 0)
    tails = torch.special.erfc(z / math.sqrt(2) * torch.exp(-log_variance / 2))
    return float((weights * tails).sum())


def critical_value(probability: float, kurtosis: float) -> float:
    """Return the z that |S| exceeds with this probability, or slightly less often: κ is rounded up."""
    if kurtosis < NORMAL_BELOW:
        return -NormalDist().inv_cdf(probability / 2)
    return _critical_value(probability, math.ceil(LEVELS_PER_DOUBLING * math.log2(kurtosis)))


@lru_cache(maxsize=1 << 10)
def _critical_value(probability: float, level: int) -> float:
    kurtosis = 2.0 ** (level / LEVELS_PER_DOUBLING)
    low, high = 0.0, 40.0 - math.log(probability)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = tail_probability(middle, kurtosis) > probability
        low, high = (middle, high) if is_above else (low, middle)
    return high
