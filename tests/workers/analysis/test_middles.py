"""Seeds that are all there are summed up the quick way, and the numbers are the same."""

import numpy as np
import pytest

from workers.analysis.bands import AT_ONCE, band
from workers.analysis.middles import MIDDLES, SPREADS, around, middle

SEEDS = np.random.default_rng(0).normal(size=(6, 40))
AND_NOBODY = np.vstack([SEEDS, np.full(40, np.nan)])


@pytest.mark.parametrize("center", MIDDLES)
def test_a_seed_that_is_nowhere_changes_no_middle(center):
    assert np.array_equal(middle(SEEDS, center), middle(AND_NOBODY, center))


@pytest.mark.parametrize("spread", [spread for spread in SPREADS if spread != "ci"])
@pytest.mark.parametrize("center", MIDDLES)
def test_a_seed_that_is_nowhere_changes_no_spread(center, spread):
    for one, other in zip(around(SEEDS, center, spread), around(AND_NOBODY, center, spread), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("center", MIDDLES)
@pytest.mark.parametrize("spread", ["range", "std", "se", "quartiles"])
def test_a_band_of_many_points_is_that_of_each_of_them(center, spread):
    points = AT_ONCE // 4 + 7
    x, seeds = np.arange(float(points)), np.random.default_rng(1).normal(size=(4, points))
    found = band([(x, seed) for seed in seeds], center, spread)
    low, high = around(seeds, center, spread)
    for one, other in ((found.middle, middle(seeds, center)), (found.low, low), (found.high, high)):
        assert np.array_equal(one, other)
    assert (found.n == 4).all()
