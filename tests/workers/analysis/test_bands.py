import numpy as np
import pytest

from workers.analysis.bands import band
from workers.analysis.middles import MIDDLES, SPREADS, around, middle


def line(x, y):
    return np.array(x, float), np.array(y, float)


def test_the_mean_of_seeds_at_the_same_steps_is_their_mean():
    found = band([line([0, 5, 10], [0, 2, 4]), line([0, 5, 10], [2, 4, 6])])
    assert found.x.tolist() == [0, 5, 10]
    assert found.middle.tolist() == [1, 3, 5]
    assert found.n.tolist() == [2, 2, 2]


def test_below_four_seeds_the_band_is_their_range():
    found = band([line([0, 1], [1, 1]), line([0, 1], [3, 5]), line([0, 1], [2, 2])])
    assert found.kind == "min–max"
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [3, 5])


def test_from_four_seeds_the_band_is_one_sample_standard_deviation():
    found = band([line([0], [v]) for v in (1, 2, 3, 4)])
    assert found.kind == "±1 std"
    assert found.high[0] - found.middle[0] == pytest.approx(np.std([1, 2, 3, 4], ddof=1))


def test_a_seed_that_ended_early_hides_nothing_and_the_count_says_so():
    found = band([line([0, 5, 10], [0, 5, 10]), line([0, 5], [2, 7])])
    assert (found.x.tolist(), found.n.tolist(), found.most) == ([0, 5, 10], [2, 2, 1], 2)
    assert found.middle.tolist() == [1, 6, 10]
    assert (found.low[:2].tolist(), np.isnan(found.low[2]), np.isnan(found.high[2])) == ([0, 5], True, True)


def test_where_nobody_is_there_is_no_point():
    found = band([line([0, 1], [0, 1]), line([5, 6], [5, 6])])
    assert (found.x.tolist(), found.n.tolist()) == ([0, 1, 5, 6], [1, 1, 1, 1])


def test_seeds_at_other_x_are_interpolated():
    found = band([line([0, 10], [0, 10]), line([0, 4, 10], [0, 0, 0])])
    assert found.x.tolist() == [0, 4, 10]
    assert found.middle.tolist() == [0, 2, 5]


def test_what_is_not_finite_is_left_out_and_a_seed_without_points_does_not_count():
    found = band([line([0, 1, 2], [1, np.nan, 3]), line([0], [np.inf])])
    assert (found.most, found.x.tolist(), found.middle.tolist()) == (1, [0, 2], [1, 3])


def test_no_seed_at_all_is_an_empty_band():
    assert band([]).most == 0
    assert len(band([]).x) == 0


def test_middles_are_those_of_numpy_and_of_a_trimmed_mean():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [90.0]])
    assert middle(values, "mean")[0] == 20
    assert middle(values, "median")[0] == 3
    assert middle(values, "iqm")[0] == np.mean([2, 3, 4])
    with_a_missing_one = np.vstack([values, [[np.nan]]])
    assert [middle(with_a_missing_one, c)[0] for c in MIDDLES] == [middle(values, c)[0] for c in MIDDLES]


def test_spreads_are_those_of_their_definitions():
    values = np.random.default_rng(3).normal(size=(9, 1))
    std = values.std(ddof=1)
    expected = {
        "range": (values.min(), values.max()),
        "std": (values.mean() - std, values.mean() + std),
        "se": (values.mean() - std / 3, values.mean() + std / 3),
        "quartiles": tuple(np.percentile(values, [25, 75])),
    }
    for name, (low, high) in expected.items():
        found = around(values, "mean", name)
        assert (found[0][0], found[1][0]) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("center", MIDDLES)
def test_the_bootstrap_interval_holds_the_middle_and_is_the_same_each_time(center):
    values = np.random.default_rng(5).normal(size=(8, 50))
    low, high = around(values, center, "ci")
    at = middle(values, center)
    assert ((low <= at) & (at <= high)).all()
    assert np.array_equal(around(values, center, "ci")[0], low)


def test_the_bootstrap_of_a_mean_is_as_wide_as_its_standard_error_says():
    values = np.random.default_rng(7).normal(size=(40, 30))
    low, high = around(values, "mean", "ci")
    se = values.std(axis=0, ddof=1) / np.sqrt(40)
    assert ((high - low) / (2 * 1.96 * se)).mean() == pytest.approx(1, abs=0.05)


def test_an_unknown_center_or_spread_names_the_valid_ones():
    with pytest.raises(ValueError, match="mean, median, iqm and spread one of auto, range, std, se, ci, quartiles"):
        band([], center="mode")
    assert list(SPREADS) == ["range", "std", "se", "ci", "quartiles"]
