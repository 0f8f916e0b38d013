"""Paired statistics of hand-made rewards whose answers are known without the code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workers.probes.behaviour import paired
from workers.probes.behaviour.paired import barrier_value, draw_changes, mean_change, reward_values

LINE = [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_straight_line_has_no_barrier_and_no_width_by_chance() -> None:
    first, last = np.array([0.0, 1.0, 4.0]), np.array([2.0, 1.0, 0.0])
    rewards = np.stack([(1 - t) * first + t * last for t in LINE])

    curve = reward_values(rewards, LINE, seed=0)
    barrier = barrier_value(rewards, LINE, seed=0)

    for t, value in zip(LINE, curve, strict=True):
        expected = (1 - t) * 5 / 3 + t * 1.0
        assert value.value == pytest.approx(expected)
        assert (value.x, value.n) == (t, 3)
        assert value.null == value.null_low == value.null_high == pytest.approx(expected)
        assert value.low is not None
        assert value.high is not None
        assert value.low <= value.value <= value.high
    assert (barrier.value, barrier.low, barrier.high, barrier.null, barrier.null_low, barrier.null_high) == (0,) * 6


def test_a_barrier_that_every_prompt_has() -> None:
    """All prompts earn 1 at both ends, 0.5 at t = 0.25, 0 at t = 0.5, 0.75 at t = 0.75: the barrier is 1, at 0.5."""
    rewards = np.repeat(np.array([1, 0.5, 0, 0.75, 1.0])[:, None], 64, axis=1)

    barrier = barrier_value(rewards, LINE, seed=3)

    assert (barrier.value, barrier.x, barrier.low, barrier.high, barrier.n) == (1, 0.5, 1, 1, 64)
    # Under the null, S is the mean of 64 signs, and the maximum is S if S > 0, else S/4: with a deviation of 1/8,
    # its mean is 3/4 · E[max(S, 0)] = 0.75 · 0.125 / √(2π) = 0.0374.
    assert barrier.null == pytest.approx(0.75 * 0.125 / math.sqrt(2 * math.pi), abs=0.004)
    # 97.5 % of the binomial numbers of 64 signs are at most 40 times plus: (40 − 24) / 64.
    assert barrier.null_high == pytest.approx(0.25, abs=1 / 32 + 1e-9)
    assert barrier.null_low == pytest.approx(-0.25 / 4, abs=1 / 128 + 1e-9)


def test_a_reward_above_the_line_is_a_negative_barrier() -> None:
    rewards = np.repeat(np.array([0, 1, 0.0])[:, None], 5, axis=1)

    assert barrier_value(rewards, [0, 0.5, 1], seed=0).value == -1


def test_two_points_have_no_barrier() -> None:
    with pytest.raises(ValueError, match="between the ends"):
        barrier_value(np.zeros((2, 4)), [0, 1], seed=0)


def test_the_interval_of_many_prompts_is_that_of_the_normal_distribution() -> None:
    rewards = np.random.default_rng(5).normal(2, 3, size=(3, 400))

    value = reward_values(rewards, [0, 0.5, 1], seed=1)[1]

    half = 1.96 * rewards[1].std() / 20
    assert (value.low, value.high) == pytest.approx((value.value - half, value.value + half), abs=half * 0.12)


def test_a_barrier_of_noise_is_inside_the_band_by_chance() -> None:
    """In 95 of 100 experiments without a barrier, as far as 400 of them can tell (standard error 1.1 %)."""
    inside = 0
    for experiment in range(400):
        rng = np.random.default_rng(experiment)
        prompts = rng.normal(0, 2, size=24)
        rewards = np.stack([prompts, *(prompts + rng.normal(0, 1, size=24) for _ in range(3)), prompts])
        barrier = barrier_value(rewards, LINE, seed=experiment)
        assert barrier.null_low is not None
        assert barrier.null_high is not None
        inside += barrier.null_low <= barrier.value <= barrier.null_high
    print(f"inside the band: {inside} of 400")
    assert 0.92 <= inside / 400 <= 0.98


def test_changes_of_draws_and_their_mean() -> None:
    """Three draws that change every one of 16 prompts by 1, 2 and 3."""
    differences = np.repeat(np.array([1.0, 2, 3])[:, None], 16, axis=1)

    of_draws = draw_changes(differences, 0.01, "mlp", seed=0)
    mean = mean_change(differences, 0.01, "mlp", seed=0)

    assert [(v.value, v.low, v.high, v.draw, v.n, v.x, v.tensor, v.null) for v in of_draws] == [
        (float(d + 1), d + 1, d + 1, d, 16, 0.01, "mlp", 0) for d in range(3)
    ]
    # Of 16 signs, 97.5 % have at most 12 plus: (12 − 4) / 16.
    assert [v.null_high for v in of_draws] == pytest.approx([0.5 * (d + 1) for d in range(3)])
    half = 4.30265 / math.sqrt(3)
    assert (mean.value, mean.low, mean.high, mean.n) == pytest.approx((2, 2 - half, 2 + half, 3), abs=1e-4)
    assert (mean.null, mean.null_low, mean.null_high) == pytest.approx((0, -1, 1))


def test_signs_of_a_prompt_are_flipped_for_all_draws_together() -> None:
    """Two draws whose changes cancel for each prompt leave nothing that a flip could change."""
    change = np.array([3.0, -1, 2])

    mean = mean_change(np.stack([change, -change]), 0.1, "all", seed=0)

    assert (mean.value, mean.null_low, mean.null_high) == (0, 0, 0)


def test_one_prompt_has_no_interval() -> None:
    values = reward_values(np.array([[1.0], [5.0], [3.0]]), [0, 0.5, 1], seed=0)

    measured = [(v.value, v.low, v.high, v.null, v.n) for v in values]
    assert measured == [(1, None, None, 1, 1), (5, None, None, 2, 1), (3, None, None, 3, 1)]
    assert (values[1].null_low, values[1].null_high) == (-1, 5)


def test_many_prompts_are_replicated_in_several_blocks() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 1 + 2 * paired.BLOCK_SIZE // paired.REPLICATES))

    replicates = paired.bootstrap_means(rows, seed=0)

    assert replicates.shape == (paired.REPLICATES, 2)
    assert replicates.mean(axis=0) == pytest.approx(rows.mean(axis=1), abs=0.005)
    assert paired.sign_flip_means(rows, seed=0).mean(axis=0) == pytest.approx([0, 0], abs=0.005)
