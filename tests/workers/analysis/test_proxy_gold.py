"""Reward and gold measure: levels, changes paired by prompt, and what counts as hacking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import ttest_rel

from workers.analysis.pass_at_k import wilson
from workers.analysis.proxy_gold import Change, Measured, Movement, change, level, movement, pool


def measured(means: Sequence[float], n: int = 1, first: int = 0, *, is_share: bool = False) -> Measured:
    """Return a measure with `n` responses to each of the prompts `first`, `first` + 1, …"""
    values = np.array(means, np.float64)
    prompts = np.arange(first, first + len(values), dtype=np.int64)
    return Measured(prompts, values * n, np.full(len(values), n, np.int64), is_share)


def share(means: Sequence[float], n: int = 1, first: int = 0) -> Measured:
    return measured(means, n, first, is_share=True)


def test_level_of_a_reward_has_the_t_interval_over_prompts() -> None:
    of_reward = level(measured([1.0, 2.0, 3.0], n=9))
    assert of_reward is not None
    assert (of_reward.mean, of_reward.prompts, of_reward.responses) == (2.0, 3, 27)
    assert of_reward.low == pytest.approx(2 - 4.3027 / 3**0.5, abs=1e-3)


def test_level_of_a_greedy_share_has_wilsons_interval() -> None:
    of_share = level(share([1, 1, 1, 0, 0, 0, 0, 0]))
    assert of_share is not None
    assert (of_share.low, of_share.high) == pytest.approx(wilson(3 / 8, 8))


@pytest.mark.parametrize("values", [[], [4.0], [4.0, 4.0]], ids=["none", "one", "equal"])
def test_level_without_spread_has_no_interval(values: list[float]) -> None:
    of_reward = level(measured(values))
    assert of_reward is None if not values else (of_reward is not None and of_reward.low is of_reward.high is None)


def test_change_of_a_reward_is_the_paired_t_interval_of_scipy() -> None:
    before, after = [-100.0, -80.0, -120.0, -90.0], [-20.0, -30.0, -10.0, -40.0]
    moved = change(measured(before), measured(after))
    assert moved is not None
    interval = ttest_rel(after, before).confidence_interval()
    assert (moved.low, moved.high) == pytest.approx((interval.low, interval.high))
    assert moved.direction == "rose"


def test_change_pairs_the_prompts_that_both_evaluations_have() -> None:
    moved = change(measured([0.0, 1.0, 2.0], first=0), measured([5.0, 7.0, 9.0], n=4, first=1))
    assert moved is not None
    assert (moved.mean, moved.prompts, moved.responses) == (4.5, 2, 8)
    assert change(measured([0.0]), measured([1.0], first=5)) is None


def test_change_of_a_share_has_an_interval_if_all_prompts_change_alike() -> None:
    lost, same = change(share([1] * 8), share([0] * 8)), change(share([1] * 8), share([1] * 8))
    assert lost is not None and lost.low is not None and lost.high is not None
    assert same is not None and same.low is not None and same.high is not None
    assert lost.low == -1 and -0.5 < lost.high < -0.3 and lost.direction == "fell"
    assert same.low < 0 < same.high and same.direction == "unclear"


def test_rewards_that_all_change_alike_have_no_direction() -> None:
    moved = change(measured([-3.0, -5.0]), measured([-2.0, -4.0]))
    assert moved == Change(1.0, None, None, 2, 2)
    assert moved.direction == "unclear"


def test_reward_of_zeros_and_ones_is_a_share() -> None:
    moved = change(share([0] * 8), share([1] * 8))
    assert moved is not None and moved.direction == "rose"


def test_pool_weighs_a_prompt_by_its_responses() -> None:
    both = pool([share([1, 0]), share([0.5, 0.5, 1.0], n=8)])
    assert both.prompts.tolist() == [0, 1, 2]
    assert both.means.tolist() == pytest.approx([5 / 9, 4 / 9, 1.0])
    assert both.is_share and not pool([share([1]), measured([2.0])]).is_share


def test_movement_leaves_out_prompts_without_a_gold_measure() -> None:
    reward = measured([-9.0, -8.0, -7.0, -999.0]), measured([-1.0, -2.0, -3.0, 999.0])
    moved = movement(reward, (share([1, 1, 1]), share([0, 0, 0])))
    assert moved is not None
    assert moved.reward.prompts == moved.gold.prompts == 3
    assert moved.reward.mean == 6.0
    assert movement(reward, (share([1], first=50), share([1], first=50))) is None


@pytest.mark.parametrize(
    ("reward", "gold", "is_hacking"),
    [
        ((1, 3), (-0.6, -0.1), True), ((1, 3), (-0.6, 0.0), False),
        ((0, 3), (-0.6, -0.1), False), ((1, 3), (0.1, 0.6), False),
    ],
    ids=["opposite", "gold-unclear", "reward-unclear", "both-rise"],
)  # fmt: skip
def test_hacking_needs_both_intervals_off_zero(
    reward: tuple[float, float], gold: tuple[float, float], is_hacking: bool
) -> None:
    rise, fall = (Change(sum(ends) / 2, *ends, 8, 72) for ends in (reward, gold))
    assert Movement(rise, fall).is_hacking is is_hacking


COVERAGE = {8: 0.91, 32: 0.91}
"""Prompts -> the least coverage of a share's change in 400 draws, of which the error is 1.1 %."""


@pytest.mark.parametrize("n", COVERAGE)
def test_interval_of_a_share_covers_the_true_change(n: int) -> None:
    rng, hits, draws = np.random.default_rng(n), 0, 400
    true = -0.2 * (0.8 * 0.96 + 0.02)
    for _ in range(draws):
        before = (rng.random(n) < 0.8) * 0.96 + 0.02
        after = np.where(rng.random(n) < 0.2, 0.0, before)
        moved = change(*(share(rng.binomial(9, p) / 9, n=9) for p in (before, after)))
        assert moved is not None and moved.low is not None and moved.high is not None
        hits += moved.low <= true <= moved.high
    assert hits / draws >= COVERAGE[n]
