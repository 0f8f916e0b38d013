"""Seeds that are all there are summed up the quick way, and the numbers are the same."""

import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.aggregate import MIDDLES, SPREADS, around, middle
from workers.analysis.bands import BATCH_SIZE, band

SEEDS = np.random.default_rng(0).normal(size=(6, 40))
AND_NOBODY = np.vstack([SEEDS, np.full(40, np.nan)])


@pytest.mark.parametrize("center", MIDDLES)
def test_missing_seed_changes_no_middle(center):
    assert np.array_equal(middle(SEEDS, center), middle(AND_NOBODY, center))


@each_case("spread", list(SPREADS))
@each_case("center", MIDDLES)
def test_missing_seed_changes_no_spread(center, spread):
    for actual, expected in zip(around(SEEDS, center, spread), around(AND_NOBODY, center, spread), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-14)


@each_case("center", MIDDLES)
@each_case("spread", ["range", "std", "se", "ci", "quartiles"])
def test_band_of_many_points_matches_pointwise_band(center, spread):
    points = BATCH_SIZE // 4 + 7
    x, seeds = np.arange(float(points)), np.random.default_rng(1).normal(size=(4, points))
    computed = band([(x, seed) for seed in seeds], center, spread)
    low, high = around(seeds, center, spread)
    for actual, expected in ((computed.middle, middle(seeds, center)), (computed.low, low), (computed.high, high)):
        assert np.array_equal(actual, expected)
    assert (computed.n == 4).all()
