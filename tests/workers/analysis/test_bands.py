import numpy as np
import pytest

from workers.analysis.bands import band


def line(x, y):
    return np.array(x, float), np.array(y, float)


def test_the_mean_of_seeds_at_the_same_steps_is_their_mean():
    found = band([line([0, 5, 10], [0, 2, 4]), line([0, 5, 10], [2, 4, 6])])
    assert found.x.tolist() == [0, 5, 10]
    assert found.mean.tolist() == [1, 3, 5]
    assert found.n == 2


def test_below_four_seeds_the_band_is_their_range():
    found = band([line([0, 1], [1, 1]), line([0, 1], [3, 5]), line([0, 1], [2, 2])])
    assert found.kind == "min–max"
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1], [3, 5])


def test_from_four_seeds_the_band_is_one_sample_standard_deviation():
    found = band([line([0], [v]) for v in (1, 2, 3, 4)])
    assert found.kind == "±1 std"
    assert found.high[0] - found.mean[0] == pytest.approx(np.std([1, 2, 3, 4], ddof=1))


def test_a_mean_ends_where_the_shortest_seed_ends():
    found = band([line([0, 5, 10], [0, 5, 10]), line([0, 5], [0, 5])])
    assert found.x.tolist() == [0, 5]


def test_seeds_at_other_x_are_interpolated():
    found = band([line([0, 10], [0, 10]), line([0, 4, 10], [0, 0, 0])])
    assert found.x.tolist() == [0, 4, 10]
    assert found.mean.tolist() == [0, 2, 5]


def test_what_is_not_finite_is_left_out_and_a_seed_without_points_does_not_count():
    found = band([line([0, 1, 2], [1, np.nan, 3]), line([0], [np.inf])])
    assert (found.n, found.x.tolist(), found.mean.tolist()) == (1, [0, 2], [1, 3])


def test_no_seed_at_all_is_an_empty_band():
    assert band([]).n == 0
    assert len(band([]).x) == 0


def test_seeds_that_share_no_range_have_no_mean():
    found = band([line([0, 1], [0, 0]), line([5, 6], [0, 0])])
    assert (found.n, len(found.x)) == (2, 0)
