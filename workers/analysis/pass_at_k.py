"""Estimate from n samples a prompt how often k of them hold a correct response, with intervals over prompts.

    pass@k   at least one of k samples is correct   1 − C(n−c, k) / C(n, k)      (Chen et al., arXiv 2107.03374, eq. 1)
    pass^k   all k samples are correct              C(c, k) / C(n, k)            (Yao et al., arXiv 2406.12045, §3)

Both are unbiased for k ≤ n, given c correct of n independent samples of a prompt; over prompts they are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.analysis.student_t import t_quantile

Z = 1.959963984540054
"""Quantile of the normal distribution for an interval of 95 %."""
PSEUDO_PROMPTS = 0.25


@dataclass(frozen=True)
class Estimate:
    """A mean over prompts with its 95 % interval; `prompts` is the number of prompts."""

    mean: float
    low: float
    high: float
    prompts: int


def pass_at_k(correct: int, samples: int, k: int) -> float:
    """Return pass@k of one prompt from `correct` of `samples`. Raise ValueError unless 1 ≤ k ≤ samples."""
    _check(correct, samples, k)
    return 1.0 - math.comb(samples - correct, k) / math.comb(samples, k)


def pass_all_k(correct: int, samples: int, k: int) -> float:
    """Return pass^k of one prompt from `correct` of `samples`. Raise ValueError unless 1 ≤ k ≤ samples."""
    _check(correct, samples, k)
    return math.comb(correct, k) / math.comb(samples, k)


def ks(samples: int) -> list[int]:
    """Return the k that are reported for so many samples: the powers of two, and the number itself."""
    powers = [2**i for i in range(samples.bit_length()) if 2**i <= samples]
    return sorted({*powers, samples} - {0})


def estimate(values: Sequence[float], draws: int = 1) -> Estimate:
    """Return the mean of one value in [0, 1] a prompt, with a 95 % interval. Raise ValueError without values.

    The interval is Wilson's for the effective number of prompts (Dean and Pagano, "Evaluating Confidence Interval
    Methods for Binomial Proportions in Clustered Surveys", 2015). It stays within [0, 1] and never has the width 0,
    which a bootstrap has if all prompts are alike.
    """
    array: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if not array.size:
        raise ValueError("an estimate needs at least one prompt")
    p = float(array.mean())
    low, high = wilson(p, _effective_prompts(array, draws))
    return Estimate(p, low, high, len(array))


def _effective_prompts(values: NDArray[np.float64], draws: int) -> float:
    """Return the number of single responses whose share would be as uncertain as this mean: at least one a prompt.

    It is p(1 − p) / Var(mean), and at most all responses, prompts × draws. The variance is estimated, so the number is
    lowered as Student's t is wider than the normal distribution (Korn and Graubard 1998). Few prompts seldom show the
    rare ones that are unlike the others, so PSEUDO_PROMPTS of a prompt that is never solved, and of one that always is,
    are added to the variance; without them intervals of pass@k near 0 or 1 cover far too little.
    """
    n = len(values)
    if n == 1:
        return 1.0
    size = n + 2 * PSEUDO_PROMPTS
    p = (float(values.sum()) + PSEUDO_PROMPTS) / size
    spread = (float((values**2).sum()) + PSEUDO_PROMPTS) / size - p * p
    effective = min(p * (1 - p) / spread * (n - 1), n * draws)
    return max(effective * (Z / t_quantile(n - 1)) ** 2, float(n))


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a proportion p of n, which need not be whole (Wilson 1927)."""
    centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))


def _check(correct: int, samples: int, k: int) -> None:
    if not 1 <= k <= samples or not 0 <= correct <= samples:
        raise ValueError(f"needs 1 ≤ k ≤ n and 0 ≤ c ≤ n, not k = {k}, n = {samples}, c = {correct}")
