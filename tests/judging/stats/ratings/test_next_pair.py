"""Which pair is chosen next: all a few times first, then the most telling one, and now and then any."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from judging.stats.ratings import Rule, next_pairs, telling
from judging.stats.ratings.counts import Counts, counts
from judging.stats.ratings.information_gain import gains, less
from judging.stats.ratings.maximum_likelihood import fit, information
from tests.judging.synthetic_votes import invented

N = 4


def square(value: int) -> np.ndarray:
    """The same of every pair."""
    return np.full((N, N), value) * (1 - np.eye(N, dtype=np.int64))


def known(wins: np.ndarray | None = None) -> Counts:
    return Counts(square(0) * 1.0 if wins is None else wins, square(0) * 1.0)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def unknown(of: np.ndarray) -> float:
    """The variance of all differences, each pair once."""
    own = np.diag(of)
    return float((own[:, None] + own[None, :] - 2 * of).sum() / 2)


def test_every_pair_is_judged_as_often_as_the_floor_before_any_is_preferred():
    chosen = next_pairs([known()], square(0), square(50), 12, rng(), Rule(least=2))
    assert set(Counter((one.one, one.other) for one in chosen).values()) == {2}
    assert chosen[0].chance == pytest.approx(1 / 6) and chosen[5].chance == 1
    assert all(one.one < one.other for one in chosen)


def test_above_the_floor_the_most_telling_pair_is_taken():
    wins = square(3) * 1.0
    wins[0, 1] = wins[1, 0] = 40.0
    found = known(wins)
    (choice,) = next_pairs([found], found.games.astype(int), square(9), 1, rng(), Rule(least=3, explore=0))
    assert (choice.one, choice.other) != (0, 1) and choice.chance == 1


def test_one_choice_in_ten_is_left_to_chance_and_the_chances_are_noted():
    found = known(square(5) * 1.0 + np.triu(square(2)))
    held = found.games.astype(int)
    chosen = [next_pairs([found], held, square(9), 1, rng(seed), Rule(explore=0.1))[0] for seed in range(200)]
    often = Counter((one.one, one.other) for one in chosen)
    chance = {(one.one, one.other): one.chance for one in chosen}
    best, times = often.most_common(1)[0]
    assert chance[best] == pytest.approx(0.9 + 0.1 / 6) and times / 200 == pytest.approx(chance[best], abs=0.04)
    assert {round(value, 6) for pair, value in chance.items() if pair != best} == {round(0.1 / 6, 6)}
    assert sum(chance.values()) == pytest.approx(1) and len(chance) == 6


def test_what_is_in_hand_counts_so_that_one_pair_is_not_taken_over_and_over():
    found = known(square(4) * 1.0)
    chosen = next_pairs([found], found.games.astype(int), square(50), 6, rng(), Rule(explore=0))
    assert len({(one.one, one.other) for one in chosen}) == 6


def test_only_what_is_free_is_chosen_and_no_more_than_there_is():
    free = square(0)
    free[1, 3] = free[3, 1] = 2
    chosen = next_pairs([known()], square(5), free, 8, rng())
    assert [(one.one, one.other, one.chance) for one in chosen] == [(1, 3, 1.0)] * 2
    assert next_pairs([known()], square(5), square(0), 8, rng()) == []


def test_where_votes_join_nobody_it_is_chance_alone():
    (choice,) = next_pairs([known()], square(5), square(1), 1, rng())
    assert choice.chance == pytest.approx(1 / 6)


def test_one_more_vote_lowers_variances_by_what_was_said():
    votes = invented(400, contestants=5, tie_rate=0)
    found = fit(counts(votes))
    worth = telling(votes, found)
    covariance = np.linalg.pinv(information(counts(votes), found.theta, found.nu), hermitian=True)
    assert gains(covariance, found.theta) == pytest.approx(worth)
    after = less(covariance, found.theta, 0, 3)
    assert unknown(covariance) - unknown(after) == pytest.approx(worth[0, 3])
