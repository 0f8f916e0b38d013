"""The choice of the next pair: all a few times first, then the most informative one, and sometimes any."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from judging.stats.ratings import Rule, information_gains, select_next_pairs
from judging.stats.ratings.counts import Counts, pair_counts
from judging.stats.ratings.information_gain import covariance_after_vote, gains_by_covariance
from judging.stats.ratings.maximum_likelihood import fit, information
from tests.judging.synthetic_votes import make_random_votes

N = 4


def square(value: int) -> np.ndarray:
    """Return a matrix with the same value for every pair."""
    return np.full((N, N), value) * (1 - np.eye(N, dtype=np.int64))


def make_counts(wins: np.ndarray | None = None) -> Counts:
    return Counts(square(0) * 1.0 if wins is None else wins, square(0) * 1.0)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def summed_variance(covariance: np.ndarray) -> float:
    """Return the summed variance of all differences, each pair once."""
    own = np.diag(covariance)
    return float((own[:, None] + own[None, :] - 2 * covariance).sum() / 2)


def test_every_pair_is_chosen_up_to_the_minimum_first():
    choices = select_next_pairs([make_counts()], square(0), square(50), 12, rng(), Rule(least=2))
    assert set(Counter((choice.first, choice.second) for choice in choices).values()) == {2}
    assert choices[0].chance == pytest.approx(1 / 6) and choices[5].chance == 1
    assert all(choice.first < choice.second for choice in choices)


def test_most_informative_pair_is_chosen_above_minimum():
    wins = square(3) * 1.0
    wins[0, 1] = wins[1, 0] = 40.0
    tallies = make_counts(wins)
    (choice,) = select_next_pairs([tallies], tallies.games.astype(int), square(9), 1, rng(), Rule(least=3, explore=0))
    assert (choice.first, choice.second) != (0, 1) and choice.chance == 1


def test_exploration_share_and_chances_are_recorded():
    tallies = make_counts(square(5) * 1.0 + np.triu(square(2)))
    judged = tallies.games.astype(int)
    choices = [
        select_next_pairs([tallies], judged, square(9), 1, rng(seed), Rule(explore=0.1))[0] for seed in range(200)
    ]
    often = Counter((choice.first, choice.second) for choice in choices)
    chance = {(choice.first, choice.second): choice.chance for choice in choices}
    best, times = often.most_common(1)[0]
    assert chance[best] == pytest.approx(0.9 + 0.1 / 6) and times / 200 == pytest.approx(chance[best], abs=0.04)
    assert {round(value, 6) for pair, value in chance.items() if pair != best} == {round(0.1 / 6, 6)}
    assert sum(chance.values()) == pytest.approx(1) and len(chance) == 6


def test_choices_of_one_call_cover_different_pairs():
    tallies = make_counts(square(4) * 1.0)
    choices = select_next_pairs([tallies], tallies.games.astype(int), square(50), 6, rng(), Rule(explore=0))
    assert len({(choice.first, choice.second) for choice in choices}) == 6


def test_only_free_pairs_are_chosen():
    free = square(0)
    free[1, 3] = free[3, 1] = 2
    choices = select_next_pairs([make_counts()], square(5), free, 8, rng())
    assert [(choice.first, choice.second, choice.chance) for choice in choices] == [(1, 3, 1.0)] * 2
    assert select_next_pairs([make_counts()], square(5), square(0), 8, rng()) == []


def test_pair_is_chosen_by_chance_without_votes():
    (choice,) = select_next_pairs([make_counts()], square(5), square(1), 1, rng())
    assert choice.chance == pytest.approx(1 / 6)


def test_extra_vote_lowers_variances_by_predicted_gain():
    votes = make_random_votes(400, contestants=5, tie_rate=0)
    fitted = fit(pair_counts(votes))
    worth = information_gains(votes, fitted)
    covariance = np.linalg.pinv(information(pair_counts(votes), fitted.theta, fitted.nu), hermitian=True)
    assert gains_by_covariance(covariance, fitted.theta) == pytest.approx(worth)
    after = covariance_after_vote(covariance, fitted.theta, 0, 3)
    assert summed_variance(covariance) - summed_variance(after) == pytest.approx(worth[0, 3])
