"""Clopper and Pearson's interval of a share: published limits, and its coverage."""

from __future__ import annotations

import math

import pytest

from tests.cases import each_case
from workers.analysis.share_interval import share_interval


@each_case(
    ("count", "n", "low", "high"),
    [(0, 10, 0.0, 0.308497), (10, 10, 0.691503, 1.0), (1, 10, 0.002529, 0.445016), (5, 10, 0.187086, 0.812914),
     (81, 263, 0.252648, 0.367594)],
)  # fmt: skip
def test_interval_has_the_published_limits(count: int, n: int, low: float, high: float) -> None:
    assert share_interval(count, n) == pytest.approx((low, high), abs=2e-4)


def test_interval_covers_every_share() -> None:
    n = 12
    intervals = [share_interval(count, n) for count in range(n + 1)]
    for share in (0.01, 0.1, 0.37, 0.5, 0.9):
        covered = sum(
            math.comb(n, k) * share**k * (1 - share) ** (n - k) for k, (a, b) in enumerate(intervals) if a <= share <= b
        )
        assert covered >= 0.95


def test_impossible_count_is_refused() -> None:
    with pytest.raises(ValueError, match="not 3 of 2"):
        share_interval(3, 2)
