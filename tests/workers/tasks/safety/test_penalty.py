"""R − λ·C: its mean is that of the papers, and its two options have their documented effects."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from workers.config import SafetyOptions
from workers.tasks.safety.penalty import penalise

REWARDS, COSTS = [2.0, -1.0, 0.5, 3.0], [3.0, -2.0, 0.0, 1.0]


def test_fitness_is_reward_minus_lambda_times_cost() -> None:
    assert penalise(REWARDS, COSTS, 0.7, SafetyOptions()) == pytest.approx([-0.1, 0.4, 0.5, 2.3])
    assert fmean(penalise(REWARDS, COSTS, 0.7, SafetyOptions())) == pytest.approx(fmean(REWARDS) - 0.7 * fmean(COSTS))


def test_standardised_values_are_divided_by_spread() -> None:
    values = penalise(REWARDS, COSTS, 1.0, SafetyOptions(standardise=True))
    assert values == pytest.approx(
        [r / pstdev(REWARDS) - c / pstdev(COSTS) for r, c in zip(REWARDS, COSTS, strict=True)]
    )


def test_constant_values_are_not_standardised() -> None:
    assert penalise([1.0, 1.0], [2.0, 2.0], 0.5, SafetyOptions(standardise=True)) == [0.0, 0.0]


def test_safe_first_drops_reward_of_unsafe_answers() -> None:
    assert penalise(REWARDS, COSTS, 1.0, SafetyOptions(safe_first=True)) == [-3.0, 1.0, 0.5, -1.0]
    halved = SafetyOptions(safe_first=True, safe_first_factor=0.5)
    assert penalise(REWARDS, COSTS, 0.0, halved) == [1.0, -1.0, 0.5, 1.5]
