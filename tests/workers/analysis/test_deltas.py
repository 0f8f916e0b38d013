from itertools import combinations

import numpy as np
import pytest

from workers.analysis.deltas import delta, separation_by_chance


def test_the_difference_is_that_of_the_means():
    assert delta([3.0, 5.0], [1.0, 2.0, 6.0]).difference == pytest.approx(np.mean([3, 5]) - np.mean([1, 2, 6]))


def test_the_spread_is_the_pooled_sample_standard_deviation():
    a, b = [3.0, 5.0, 4.5], [1.0, 2.0, 6.0, -3.0]
    residuals = np.r_[a - np.mean(a), b - np.mean(b)]
    assert delta(a, b).spread == pytest.approx(np.sqrt((residuals**2).sum() / (len(a) + len(b) - 2)))


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([1.0, 2.0], [3.0]), ([1.0], [2.0])])
def test_single_seed_has_no_spread(a, b):
    difference = delta(a, b)
    assert (difference.spread, difference.exceeds, difference.times) == (None, None, None)


def test_difference_is_compared_with_spread():
    near, distant = delta([1.0, 3.0], [2.0, 4.0]), delta([1.0, 3.0], [12.0, 14.0])
    assert (near.exceeds, distant.exceeds) == (False, True)
    assert distant.times == pytest.approx(11 / np.sqrt(2))


def test_equal_seeds_have_no_multiple_of_spread():
    assert delta([1.0, 1.0], [2.0, 2.0]).times is None
    assert delta([1.0, 1.0], [2.0, 2.0]).exceeds is True
    assert delta([1.0, 1.0], [1.0, 1.0]).exceeds is False


@pytest.mark.parametrize(
    ("a", "b", "apart"), [([1.0, 2.0], [3.0, 4.0], True), ([5.0], [3.0, 4.0], True), ([1.0, 3.5], [3.0, 4.0], False)]
)
def test_seeds_are_apart_when_ranges_are_disjoint(a, b, apart):
    assert delta(a, b).apart is apart


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 2), (2, 2), (2, 3), (4, 4)])
def test_separation_by_chance_matches_enumeration(n, m):
    orders = list(combinations(range(n + m), n))
    apart = [o for o in orders if o in (tuple(range(n)), tuple(range(m, n + m)))]
    assert separation_by_chance(n, m) == pytest.approx(len(apart) / len(orders))


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], [])])
def test_a_side_without_a_value_has_no_delta(a, b):
    with pytest.raises(ValueError, match="at least one"):
        delta(a, b)
