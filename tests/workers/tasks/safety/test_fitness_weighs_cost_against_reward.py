"""R − λ·C: its mean is what the papers write, and its two options do what they say."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from workers.config import SafetyOptions
from workers.tasks.safety.penalty import penalised

REWARDS, COSTS = [2.0, -1.0, 0.5, 3.0], [3.0, -2.0, 0.0, 1.0]


def test_the_mean_is_mean_reward_minus_lambda_times_mean_cost() -> None:
    assert penalised(REWARDS, COSTS, 0.7, SafetyOptions()) == pytest.approx([-0.1, 0.4, 0.5, 2.3])
    assert fmean(penalised(REWARDS, COSTS, 0.7, SafetyOptions())) == pytest.approx(fmean(REWARDS) - 0.7 * fmean(COSTS))


def test_standardised_each_is_divided_by_its_spread_and_not_centred() -> None:
    found = penalised(REWARDS, COSTS, 1.0, SafetyOptions(standardise=True))
    assert found == pytest.approx(
        [r / pstdev(REWARDS) - c / pstdev(COSTS) for r, c in zip(REWARDS, COSTS, strict=True)]
    )


def test_what_does_not_spread_is_left_as_it_is() -> None:
    assert penalised([1.0, 1.0], [2.0, 2.0], 0.5, SafetyOptions(standardise=True)) == [0.0, 0.0]


def test_safe_first_drops_the_reward_of_unsafe_answers_alone() -> None:
    assert penalised(REWARDS, COSTS, 1.0, SafetyOptions(safe_first=True)) == [-3.0, 1.0, 0.5, -1.0]
    kept = SafetyOptions(safe_first=True, safe_first_factor=0.5)
    assert penalised(REWARDS, COSTS, 0.0, kept) == [1.0, -1.0, 0.5, 1.5]
