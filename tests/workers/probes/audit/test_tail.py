"""Tails of products of normal numbers equal their integrals and what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from workers.probes.audit.tail import critical_value, tail_probability


@pytest.mark.parametrize("z", [0.5, 3.0, 6.0, 15.0, 25.0])
def test_tail_of_a_product_of_two_normals_is_the_integral_of_its_density(z: float) -> None:
    # The density of GH is K₀(|x|)/π.
    expected = 2 / np.pi * integrate.quad(special.k0, z, np.inf, epsabs=0)[0]
    assert tail_probability(z, 1.0) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("z", [1.0, 4.0, 7.0])
def test_tail_without_kurtosis_is_normal(z: float) -> None:
    expected = 2 * stats.norm.sf(z)
    assert tail_probability(z, 0.0) == pytest.approx(expected)
    assert tail_probability(z, 2e-6) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("terms", [2, 8, 50])
def test_tail_of_sums_of_products_is_the_share_of_draws(terms: int) -> None:
    generator = np.random.default_rng(terms)
    draws = sum(generator.standard_normal(400_000) * generator.standard_normal(400_000) for _ in range(terms))
    for z in (1.0, 2.0, 3.0):
        share = float((np.abs(draws) / terms**0.5 > z).mean())
        assert tail_probability(z, 1 / terms) == pytest.approx(share, abs=4 * (share / 400_000) ** 0.5)


@pytest.mark.parametrize("kurtosis", [0.0, 1e-4, 0.03, 0.3, 1.0])
def test_critical_value_is_exceeded_no_more_often(kurtosis: float) -> None:
    z = critical_value(1e-7, kurtosis)
    assert 2e-9 < tail_probability(z, kurtosis) <= 1.0001e-7
