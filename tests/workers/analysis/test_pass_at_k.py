"""pass@k and pass^k against the closed formula and by enumeration, and their intervals by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import special

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

    # One response a prompt: the effective number is the number of prompts.
    assert (interval.low, interval.high) == pytest.approx((0.1682, 0.6873), abs=5e-5)
    assert interval.prompts == 10


def test_interval_has_a_width_if_all_prompts_are_alike() -> None:
    none, every = estimate([0.0] * 20, 4), estimate([1.0] * 20, 4)

    assert none == Estimate(0.0, 0.0, pytest.approx(0.1611, abs=5e-5), 20)
    assert every == Estimate(1.0, pytest.approx(0.8389, abs=5e-5), 1.0, 20)
    # All 80 responses count as independent, less what Student's t with 19 degrees of freedom is wider: 2.0930.
    alike = estimate([0.5] * 20, 4)
    assert (alike.low, alike.high) == pytest.approx(wilson(0.5, 80 * (1.959964 / 2.093024) ** 2), abs=1e-6)


def test_interval_is_never_wider_than_that_of_one_response_per_prompt() -> None:
    for values in ([0.0, 1.0] * 4, [0.0] * 7 + [1.0], [0.1] * 7 + [1.0]):
        interval = estimate(values, 8)
        low, high = wilson(sum(values) / 8, 8)
        assert low <= interval.low <= interval.high <= high
    assert (estimate([0.5], 8).low, estimate([0.5], 8).high) == wilson(0.5, 1)


SAMPLES = 16
DIFFICULTIES = {
    "even": (1.0, 1.0),
    "two kinds": (0.2, 0.2),
    "hard": (0.2, 3.0),
    "alike": (5.0, 5.0),
    "mixed": (2.0, 2.0),
}
"""Distributions of a prompt's chance to be solved: the parameters of a beta distribution."""


def coverage(difficulty: tuple[float, float], k: int, prompts: int, rounds: int, seed: int = 1) -> float:
    """Return the share of intervals of pass@k that hold its mean over all prompts, 1 − B(a, b + k) / B(a, b)."""
    draw = np.random.default_rng(seed)
    true = 1 - special.beta(difficulty[0], difficulty[1] + k) / special.beta(*difficulty)
    by_correct = [pass_at_k(c, SAMPLES, k) for c in range(SAMPLES + 1)]
    counts = draw.binomial(SAMPLES, draw.beta(*difficulty, size=(rounds, prompts)))
    intervals = [estimate([by_correct[c] for c in row], SAMPLES) for row in counts]
    return sum(interval.low <= true <= interval.high for interval in intervals) / rounds


@each_case(
    ("name", "k", "prompts"), [("even", 1, 8), ("even", 8, 8), ("mixed", 8, 8), ("hard", 1, 8), ("mixed", 8, 32)]
)
def test_interval_of_few_prompts_covers_the_truth(name: str, k: int, prompts: int) -> None:
    rounds = 400

    assert coverage(DIFFICULTIES[name], k, prompts, rounds) > 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / rounds)


@pytest.mark.soak
@pytest.mark.parametrize("prompts", [4, 8, 16, 32, 100])
def test_interval_of_pass_at_k_covers_the_truth_for_all_difficulties(prompts: int) -> None:
    print("\nname, k, prompts, coverage")
    shares = {}
    for name, difficulty in DIFFICULTIES.items():
        for k in (1, 4, 8):
            shares[name, k] = coverage(difficulty, k, prompts, 4000)
            print(f"{name:10} {k:2} {prompts:4} {shares[name, k]:.3f}")
    assert min(shares.values()) > 0.93, shares
    # With few prompts, intervals are rather too wide: no interval can tell which rare prompts are missing.
    assert prompts < 32 or max(shares.values()) < 0.99, shares


def test_no_prompts_give_no_number() -> None:
    with pytest.raises(ValueError, match="at least one prompt"):
        estimate([])
