"""Quantiles and intervals equal those of scipy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from workers.probes.geometry.nulls import gamma_band, null_of_draws


@pytest.mark.parametrize("n", [1, 2, 64, 4096, 10**6, 233_000_000])
def test_gamma_band_of_a_squared_norm_is_that_of_chi_square(n: int) -> None:
    band = gamma_band(3.0 * n, 2 * 9.0 * n)
    assert band == pytest.approx([3 * stats.chi2.ppf(p, n) for p in (0.025, 0.975)], rel=1e-8)


def test_gamma_band_of_nothing_has_no_width() -> None:
    assert gamma_band(0.0, 0.0) == (0.0, 0.0)


def test_null_of_three_draws() -> None:
    null = null_of_draws([1.0, 2.0, 3.0])
    half = 4.302652729911275 * math.sqrt(4 / 3)
    assert (null.value, null.low, null.high) == pytest.approx((2, 2 - half, 2 + half))
