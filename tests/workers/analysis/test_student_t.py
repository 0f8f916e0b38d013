"""Quantiles of Student's t against scipy, and the intervals that they give."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tests.cases import each_case
from workers.analysis.student_t import mean_interval, prediction_interval, t_quantile


@each_case("freedom", [1, 2, 3, 7, 30, 31, 100, 10_000])
def test_quantiles_equal_those_of_scipy(freedom: int) -> None:
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-6)


def test_quantiles_need_a_degree_of_freedom() -> None:
    with pytest.raises(ValueError, match="at least one"):
        t_quantile(0)


def test_intervals_of_three_values() -> None:
    # 1, 2, 3: mean 2, standard deviation 1; t of two degrees of freedom is 4.30265.
    assert mean_interval([1, 2, 3]) == pytest.approx((2 - 4.30265 / math.sqrt(3), 2 + 4.30265 / math.sqrt(3)), abs=1e-4)
    half = 4.30265 * math.sqrt(4 / 3)
    assert prediction_interval([1, 2, 3]) == pytest.approx((2 - half, 2 + half), abs=1e-4)


@pytest.mark.parametrize("interval", [mean_interval, prediction_interval])
def test_one_value_has_no_interval(interval: object) -> None:
    with pytest.raises(ValueError, match="at least two values"):
        interval([1.0])  # type: ignore[operator]
