import numpy as np
import pytest
from scipy import stats

from workers.analysis.aggregate import MIDDLES, SPREADS, around, middle
from workers.analysis.bands import band


def line(x, y):
    return np.array(x, float), np.array(y, float)


def test_band_middle_is_mean_of_seeds():
    mean_band = band([line([0, 5, 10], [0, 2, 4]), line([0, 5, 10], [2, 4, 6])])
    assert mean_band.x.tolist() == [0, 5, 10]
    assert mean_band.middle.tolist() == [1, 3, 5]
    assert mean_band.n.tolist() == [2, 2, 2]


def test_below_four_seeds_the_band_is_their_range():
    range_band = band([line([0, 1], [1, 1]), line([0, 1], [3, 5]), line([0, 1], [2, 2])])
    assert range_band.kind == "min–max"
    assert (range_band.low.tolist(), range_band.high.tolist()) == ([1, 1], [3, 5])


def test_from_four_seeds_the_band_is_one_sample_standard_deviation():
    std_band = band([line([0], [v]) for v in (1, 2, 3, 4)])
    assert std_band.kind == "±1 std"
    assert std_band.high[0] - std_band.middle[0] == pytest.approx(np.std([1, 2, 3, 4], ddof=1))


def test_band_keeps_steps_after_a_seed_ended():
    computed = band([line([0, 5, 10], [0, 5, 10]), line([0, 5], [2, 7])])
    assert (computed.x.tolist(), computed.n.tolist(), computed.most) == ([0, 5, 10], [2, 2, 1], 2)
    assert computed.middle.tolist() == [1, 6, 10]
    assert (computed.low[:2].tolist(), np.isnan(computed.low[2]), np.isnan(computed.high[2])) == ([0, 5], True, True)


def test_band_has_no_points_between_seeds():
    computed = band([line([0, 1], [0, 1]), line([5, 6], [5, 6])])
    assert (computed.x.tolist(), computed.n.tolist()) == ([0, 1, 5, 6], [1, 1, 1, 1])


def test_seeds_at_other_x_are_interpolated():
    computed = band([line([0, 10], [0, 10]), line([0, 4, 10], [0, 0, 0])])
    assert computed.x.tolist() == [0, 4, 10]
    assert computed.middle.tolist() == [0, 2, 5]


def test_band_ignores_values_that_are_not_finite():
    computed = band([line([0, 1, 2], [1, np.nan, 3]), line([0], [np.inf])])
    assert (computed.most, computed.x.tolist(), computed.middle.tolist()) == (1, [0, 2], [1, 3])


def test_no_seed_at_all_is_an_empty_band():
    assert band([]).most == 0
    assert len(band([]).x) == 0


def test_middles_match_numpy_and_trimmed_mean():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [90.0]])
    assert middle(values, "mean")[0] == 20
    assert middle(values, "median")[0] == 3
    assert middle(values, "iqm")[0] == np.mean([2, 3, 4])
    with_a_missing_one = np.vstack([values, [[np.nan]]])
    assert [middle(with_a_missing_one, c)[0] for c in MIDDLES] == [middle(values, c)[0] for c in MIDDLES]


def test_spreads_match_their_definitions():
    values = np.random.default_rng(3).normal(size=(9, 1))
    std = values.std(ddof=1)
    expected = {
        "range": (values.min(), values.max()),
        "std": (values.mean() - std, values.mean() + std),
        "se": (values.mean() - std / 3, values.mean() + std / 3),
        "quartiles": tuple(np.percentile(values, [25, 75])),
    }
    for name, (low, high) in expected.items():
        bounds = around(values, "mean", name)
        assert (bounds[0][0], bounds[1][0]) == (pytest.approx(low), pytest.approx(high))


def test_interval_of_mean_equals_that_of_scipy():
    values = np.random.default_rng(5).normal(size=(7, 20))
    values[5:, :4] = np.nan
    low, high = around(values, "mean", "ci")
    for column in (0, 10):
        seeds = values[~np.isnan(values[:, column]), column]
        expected = stats.t.interval(0.95, len(seeds) - 1, seeds.mean(), stats.sem(seeds))
        assert (low[column], high[column]) == pytest.approx(expected)


@pytest.mark.parametrize("center", MIDDLES)
def test_interval_is_centred_on_the_middle(center):
    values = np.random.default_rng(5).normal(size=(8, 50))
    low, high = around(values, center, "ci")
    assert (low + high) / 2 == pytest.approx(middle(values, center))
    assert np.isnan(around(values[:1], center, "ci")).all()


def test_band_states_the_last_x_that_all_seeds_have():
    uneven = band([line([0, 5, 10], [0, 2, 4]), line([0, 5], [2, 4]), line([0, 5, 10], [1, 1, np.nan])])
    assert (uneven.end, uneven.seeds, uneven.is_uneven) == (5, 3, True)
    even = band([line([0, 5], [0, 2]), line([0, 5], [2, 4])])
    assert (even.end, even.is_uneven) == (5, False)
    apart = band([line([0, 10], [0, 2]), line([1, 11], [2, 4])])
    assert (np.isnan(apart.end), apart.is_uneven) == (True, True)
    assert band([line([0, 10], [0, 2]), line([1, 11], [2, 4])], share_points=False).end == 10


def test_unknown_center_is_refused_with_choices():
    with pytest.raises(ValueError, match="mean, median, iqm and spread one of auto, range, std, se, ci, quartiles"):
        band([], center="mode")
    assert list(SPREADS) == ["range", "std", "se", "ci", "quartiles"]
