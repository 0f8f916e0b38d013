"""95 % t-intervals over seeds: of their mean, and of their median and interquartile mean.

The interval is center ± factor · s, with the sample standard deviation s of the n seeds. For the mean, the factor is
Student's t quantile divided by √n. The median and the interquartile mean vary more than the mean of normal values does:
their factor is larger by RATIOS, so that the interval holds the true value in 95 % of samples of normal values too.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workers.analysis.student_t import t_quantile

RATIOS = {
    "median": (
        1.0, 1.025, 1.0291, 1.0894, 1.0726, 1.1305, 1.1047, 1.1559, 1.1287, 1.1731, 1.1454, 1.1845, 1.1586, 1.1942,
        1.1687, 1.2007, 1.1771, 1.2065, 1.1841, 1.2099, 1.1899, 1.2148, 1.1944, 1.2173, 1.1987, 1.2206, 1.2025, 1.2222,
        1.2049, 1.2256, 1.2076,
    ),
    "iqm": (
        1.0, 1.0, 1.0291, 1.0286, 1.0267, 1.0245, 1.0564, 1.051, 1.0462, 1.0422, 1.0671, 1.0618, 1.0572, 1.0532,
        1.0729, 1.0681, 1.0639, 1.0604, 1.0765, 1.0725, 1.0688, 1.0653, 1.0789, 1.0753, 1.0721, 1.0689, 1.0808, 1.0777,
        1.0745, 1.0717, 1.0824,
    ),
}  # fmt: skip
"""Factor of a center divided by that of the mean, for n = 2, 3, … 32 seeds.

(center − μ) / s is the sum of (mean − μ) / s and (center − mean) / s, which are independent for normal values (Basu).
400 000 draws of the second give the quantile of the sum; its error is below 0.002.
"""
LIMITS = {"median": (math.sqrt(math.pi / 2), 1.2, 0.72), "iqm": (1.0932, 0.45, 0.45)}
"""Ratio of the standard errors of many normal values, and its correction −c / n for even and for odd n. Above 32 seeds,
the error of ratio · (1 − c / n) is below 0.005."""
FIRST = 2


def t_factors(n: NDArray[np.int64], center: str) -> NDArray[np.float64]:
    """Return float64[…], the factors by which the sample standard deviation of int64[…] n seeds is multiplied for half
    of the interval of `center` (mean, median or iqm); NaN for fewer than two seeds."""
    counts, positions = np.unique(n, return_inverse=True)
    return np.array([_factor(int(count), center) for count in counts])[positions.reshape(n.shape)]


@cache
def _factor(n: int, center: str) -> float:
    return t_quantile(n - 1) / math.sqrt(n) * _ratio(n, center) if n >= FIRST else math.nan


def _ratio(n: int, center: str) -> float:
    if center not in RATIOS:
        return 1.0
    if n - FIRST < len(RATIOS[center]):
        return RATIOS[center][n - FIRST]
    limit, even, odd = LIMITS[center]
    return limit * (1 - (odd if n % 2 else even) / n)
