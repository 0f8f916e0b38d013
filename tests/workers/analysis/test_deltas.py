"""Differences of settings and their tests, with scipy and enumeration as referees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.cases import each_case
from workers.analysis.deltas import MAX_DIVISIONS, delta, permutation_p, smallest_p


def seeds(count: int, shift: float = 0.0, scale: float = 1.0, seed: int = 0) -> list[float]:
    return (shift + scale * np.random.default_rng(seed).normal(size=count)).tolist()


def test_difference_is_that_of_the_means() -> None:
    assert delta([3.0, 5.0], [1.0, 2.0, 6.0]).difference == pytest.approx(np.mean([3, 5]) - np.mean([1, 2, 6]))


@each_case(("n", "m"), [(2, 2), (2, 5), (3, 3), (5, 5), (4, 10), (10, 10)])
@each_case("scale", [1e-200, 0.1, 1.0, 1e200])
def test_welch_p_equals_that_of_scipy(n: int, m: int, scale: float) -> None:
    a, b = seeds(n, 1.0, 2.0), seeds(m, seed=1)
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert delta([scale * v for v in a], [scale * v for v in b]).welch == pytest.approx(expected, rel=1e-9)


@each_case(("n", "m"), [(4, 4), (3, 5), (2, 8), (5, 5), (4, 6)])
@each_case("shift", [0.0, 1.0, 9.0])
def test_permutation_p_equals_that_of_scipy(n: int, m: int, shift: float) -> None:
    a, b = seeds(n, shift), seeds(m, seed=1)
    expected = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=10_000).pvalue
    assert delta(a, b).permutation == pytest.approx(expected)


@each_case(("n", "m"), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 4)])
def test_smallest_p_matches_enumeration(n: int, m: int) -> None:
    divisions = list(combinations(range(n + m), n))
    extreme = [d for d in divisions if d in (tuple(range(n)), tuple(range(m, n + m)))]
    assert smallest_p(n, m) == pytest.approx(len(extreme) / len(divisions) if n != m else 2 / len(divisions))
    a, b = np.arange(n) + 100.0, np.arange(m) + 0.0
    assert permutation_p(a, b) == pytest.approx(smallest_p(n, m))


@each_case(
    ("n", "m", "is_tested"),
    [
        (2, 2, False),
        (3, 3, False),
        (3, 4, False),
        (4, 4, True),
        (3, 5, True),
        (2, 7, False),
        (2, 8, True),
        (9, 9, False),
    ],
)
def test_permutation_test_accompanies_welch_if_it_can_reach_the_level(n: int, m: int, is_tested: bool) -> None:
    tested = delta(seeds(n), seeds(m, seed=1))
    assert tested.welch is not None
    assert (tested.permutation is not None) is is_tested
    assert (tested.n, tested.base_n) == (n, m)
    assert MAX_DIVISIONS < 48_620, "9 + 9 seeds have more divisions than are gone through"


@each_case(("a", "b"), [([1.0], [2.0, 3.0]), ([1.0, 2.0], [3.0]), ([1.0], [2.0])])
def test_single_seed_has_no_test(a: list[float], b: list[float]) -> None:
    tested = delta(a, b)
    assert (tested.welch, tested.permutation) == (None, None)


def test_equal_seeds_have_a_permutation_test_alone() -> None:
    distant, equal = delta([1.0, 1.0], [2.0, 2.0]), delta([1.0, 1.0], [1.0, 1.0])
    assert (distant.welch, distant.permutation) == (None, pytest.approx(1 / 3))
    assert (equal.welch, equal.permutation, equal.difference) == (None, 1.0, 0.0)
    assert delta([0.1] * 4, [0.1] * 4).permutation == 1.0


def test_one_side_of_equal_seeds_has_welchs_test() -> None:
    # A side without a deviation is a known mean.
    expected = stats.ttest_1samp([2.0, 3.0], 1.0).pvalue
    assert delta([1.0, 1.0, 1.0], [2.0, 3.0]).welch == pytest.approx(expected)


@each_case(("a", "b"), [([], [1.0]), ([1.0], [])])
def test_side_without_a_value_has_no_delta(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        delta(a, b)
