"""The exact interval of a share: Clopper and Pearson, Biometrika 26:404 (1934)."""

from __future__ import annotations

import math
from collections.abc import Callable

HALVINGS = 60


def share_interval(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the limits of the share of which `count` of `n` independent trials are a sample.

    It covers the share with at least this probability, whatever the share is. Raise ValueError unless 0 ≤ count ≤ n
    and n ≥ 1.
    """
    if not 0 <= count <= n or n < 1:
        raise ValueError(f"needs 0 ≤ count ≤ n and n ≥ 1, not {count} of {n}")
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else _solve(lambda p: tail - _at_least(count, n, p))
    high = 1.0 if count == n else _solve(lambda p: 1 - tail - _at_least(count + 1, n, p))
    return low, high


def _solve(falling: Callable[[float], float]) -> float:
    """Return where a function that falls from above 0 at p = 0 to below 0 at p = 1 is 0."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _at_least(count: int, n: int, p: float) -> float:
    """Return the probability of at least `count` successes in n trials."""
    if p <= 0 or p >= 1:
        return float(p >= 1 or count == 0)
    logs = (
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in range(count, n + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))
