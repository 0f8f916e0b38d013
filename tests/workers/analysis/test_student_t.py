"""Quantiles of Student's t against scipy, and the intervals that they give."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tests.cases import each_case
from workers.analysis.student_t import mean_interval, prediction_interval, t_quantile, two_sided_p


@each_case("freedom", [1, 2, 3, 7, 30, 31, 100, 10_000])
def test_quantiles_equal_those_of_scipy(freedom: int) -> None:
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-6)
    assert t_quantile(freedom, 0.8) == pytest.approx(stats.t.ppf(0.9, freedom), rel=1e-6)
    assert t_quantile(freedom, 0.999) == pytest.approx(stats.t.ppf(0.9995, freedom), rel=1e-5)


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


@each_case("freedom", [1, 1.3, 2, 2.7, 5, 10.5, 30, 200.2, 1e4, 1e6])
@each_case("t", [0, 1e-9, 1e-3, 0.1, 0.5, 1, 2, 5, 12.7, 100, 1e4])
def test_two_sided_p_equals_that_of_scipy(freedom: float, t: float) -> None:
    assert two_sided_p(-t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-7, abs=1e-300)


def test_infinite_t_has_probability_zero() -> None:
    assert two_sided_p(math.inf, 3) == 0
