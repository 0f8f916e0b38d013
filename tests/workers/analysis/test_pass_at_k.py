"""pass@k and pass^k against the closed formula and by enumeration, and their intervals by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.pass_at_k import Estimate, estimate, ks, pass_all_k, pass_at_k, wilson


@each_case("samples", range(1, 9))
def test_estimators_equal_enumeration_of_all_choices_of_k_samples(samples: int) -> None:
    for correct in range(samples + 1):
        outcomes = [True] * correct + [False] * (samples - correct)
        for k in range(1, samples + 1):
            choices = list(combinations(outcomes, k))
            assert pass_at_k(correct, samples, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-15)
            assert pass_all_k(correct, samples, k) == pytest.approx(sum(map(all, choices)) / len(choices), abs=1e-15)


def test_pass_at_k_equals_the_product_of_the_published_code() -> None:
    """Chen et al. (2021), figure 3: 1 − Π over i from n−c+1 to n of (1 − k/i)."""
    for samples, correct, k in ((64, 3, 64), (64, 3, 16), (64, 1, 8), (200, 17, 64), (64, 63, 1), (512, 2, 64)):
        product = np.prod(1.0 - k / np.arange(samples - correct + 1, samples + 1))
        by_formula = 1.0 if samples - correct < k else 1.0 - product
        assert pass_at_k(correct, samples, k) == pytest.approx(by_formula, rel=1e-12)


def test_pass_at_1_is_the_share_of_correct_samples_not_any_correct() -> None:
    assert pass_at_k(1, 4, 1) == 0.25
    assert pass_at_k(1, 4, 4) == 1.0


@pytest.mark.parametrize(("correct", "samples", "k"), [(0, 4, 5), (0, 4, 0), (5, 4, 1), (-1, 4, 1)])
def test_impossible_numbers_are_refused(correct: int, samples: int, k: int) -> None:
    with pytest.raises(ValueError, match="needs 1 ≤ k ≤ n and 0 ≤ c ≤ n"):
        pass_at_k(correct, samples, k)


def test_reported_k_are_powers_of_two_and_the_number_of_samples() -> None:
    assert ks(64) == [1, 2, 4, 8, 16, 32, 64]
    assert ks(20) == [1, 2, 4, 8, 16, 20]
    assert (ks(1), ks(0)) == ([1], [])


def test_interval_of_greedy_accuracy_is_wilsons() -> None:
    """4 of 10: Wilson's interval is 0.1682 to 0.6873 (Newcombe 1998, method 3)."""
    interval = estimate([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])

    # Var(mean) with n − 1 gives an effective number below 10, and no interval is narrower than that of 10 prompts.
    assert (interval.low, interval.high) == pytest.approx((0.1682, 0.6873), abs=5e-5)
    assert interval.prompts == 10


def test_interval_has_a_width_if_all_prompts_are_alike() -> None:
    none, every = estimate([0.0] * 20, 4), estimate([1.0] * 20, 4)

    assert none == Estimate(0.0, 0.0, pytest.approx(0.1611, abs=5e-5), 20)
    assert every == Estimate(1.0, pytest.approx(0.8389, abs=5e-5), 1.0, 20)
    alike = estimate([0.5] * 20, 4)
    assert (alike.low, alike.high) == wilson(0.5, 80)


def test_interval_contains_the_truth_as_often_as_it_says() -> None:
    """40 prompts of differing difficulty, 8 samples each, 1000 times: 95 % within the error of 1000 draws, or more."""
    draw = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        difficulty = draw.beta(0.6, 1.4, size=40)
        correct = draw.binomial(8, difficulty)
        interval = estimate([pass_at_k(int(c), 8, 1) for c in correct], 8)
        hits += interval.low <= 0.3 <= interval.high
    assert 0.935 <= hits / 1000 <= 0.985


def test_no_prompts_give_no_number() -> None:
    with pytest.raises(ValueError, match="at least one prompt"):
        estimate([])
