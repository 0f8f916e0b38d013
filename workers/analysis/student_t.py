"""Student's t: its 97.5 % quantile, the intervals of a mean and of one further value, and the p-values of its tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95
EXACT_FREEDOM = 30
"""Degrees of freedom up to which the quantile is exact. Above, the error of its series is below 1e-7."""
HALVINGS = 60
FRACTION_TERMS, SMALLEST = 500, 1e-300
"""Terms of the continued fraction at most, and the number that takes the place of a zero in it."""


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
def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the number that Student's t stays below in absolute value with this probability. Raise ValueError without
    a degree of freedom."""
    if freedom < 1:
        raise ValueError(f"Student's t needs at least one degree of freedom, not {freedom}")
    if freedom > EXACT_FREEDOM:
        return _series(NormalDist().inv_cdf((1 + confidence) / 2), freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability(middle, freedom) < confidence else (low, middle)
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


def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability that Student's t exceeds |t| in absolute value; degrees of freedom need not be whole.

    It is the incomplete beta function I_x(freedom / 2, 1 / 2) at x = freedom / (freedom + t²).
    """
    square = t * t
    if square == 0 or math.isinf(square):
        return 0.0 if square else 1.0
    x, rest = freedom / (freedom + square), square / (freedom + square)
    a, b = freedom / 2, 0.5
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(b * math.log(rest) - a * math.log1p(square / freedom) - log_beta)
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(rest, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function by Lentz's method (Numerical Recipes, 6.4)."""
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or SMALLEST)
    value = d
    for m in range(1, FRACTION_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or SMALLEST)
            c = (1 + term / c) or SMALLEST
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
