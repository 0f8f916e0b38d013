"""Student's t: its 97.5 % quantile, and the intervals of a mean and of one further value that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95
EXACT_FREEDOM = 30
"""Degrees of freedom up to which the quantile is exact. Above, the error of its series is below 1e-7."""
HALVINGS = 60


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent values. Raise ValueError for fewer than two."""
    return _interval(values, 1 / len(values) if values else 0.0)


def prediction_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds one further value with a probability of 95 %. Raise ValueError for fewer than
    two."""
    return _interval(values, 1 + 1 / len(values) if values else 0.0)


def _interval(values: Sequence[float], variances: float) -> tuple[float, float]:
    """Return mean ± t · s · √variances."""
    if len(values) < 2:
        raise ValueError(f"a t interval needs at least two values, not {len(values)}")
    half = t_quantile(len(values) - 1) * stdev(values) * math.sqrt(variances)
    return fmean(values) - half, fmean(values) + half


@cache
def t_quantile(freedom: int) -> float:
    """Return the number that Student's t stays below in absolute value with probability CONFIDENCE. Raise ValueError
    without a degree of freedom."""
    if freedom < 1:
        raise ValueError(f"Student's t needs at least one degree of freedom, not {freedom}")
    if freedom > EXACT_FREEDOM:
        return _series(NormalDist().inv_cdf((1 + CONFIDENCE) / 2), freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability(middle, freedom) < CONFIDENCE else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _probability(angle: float, freedom: int) -> float:
    """Return the probability of |t| < tan(angle) √freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + is_odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def _series(z: float, freedom: int) -> float:
    """Return the quantile of t from that of the normal distribution (Abramowitz and Stegun, 26.7.5)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))
