"""Online Elo: many orders in one batch equal single passes."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import Elo, ratings_over_orders, single_pass
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import make_game_votes, make_random_votes


def test_first_win_moves_elo_by_half_of_k():
    assert single_pass(make_game_votes(("ada", "bo"), (0, 1, Outcome.A)), Elo()).tolist() == [1016, 984]


def test_elo_over_orders_equals_single_passes():
    ballots, elo = make_random_votes(size=120), Elo(shuffle=None)
    rng = np.random.default_rng(5)
    one_by_one = np.array([single_pass(ballots.select(rng.permutation(120)), elo) for _ in range(7)])
    orders = ratings_over_orders(ballots, elo, 7, seed=5)
    assert orders.mean == pytest.approx(one_by_one.mean(axis=0), abs=1e-9)
    assert orders.sd == pytest.approx(one_by_one.std(axis=0, ddof=1), abs=1e-9)
    assert orders.spread == pytest.approx(np.ptp(one_by_one, axis=0), abs=1e-9)


def test_elo_over_orders_is_independent_of_chunk_size(monkeypatch):
    ballots = make_random_votes(size=120)
    whole = ratings_over_orders(ballots, Elo(), 10).mean
    monkeypatch.setattr("judging.stats.ratings.online_elo.MAX_VOTES_PER_BLOCK", 300)
    assert ratings_over_orders(ballots, Elo(), 10).mean == pytest.approx(whole, abs=1e-9)


def test_failed_judgment_counts_as_tie_only_by_default():
    ballots = make_game_votes(("ada", "bo"), (0, 1, Outcome.A), (0, 1, Outcome.UNPARSED))
    assert single_pass(ballots, Elo(shuffle=None, missing_as_tie=False)).tolist() == [1016, 984]
    assert single_pass(ballots, Elo(shuffle=None))[0] < 1016


def test_elo_without_votes_stays_at_start():
    none = make_game_votes(("ada", "bo"))
    assert single_pass(none, Elo()).tolist() == [1000, 1000]
    assert ratings_over_orders(none, Elo(), 3).spread.tolist() == [0, 0]


def test_single_order_is_refused_for_spread():
    with pytest.raises(ValueError, match="there must be at least two orders, not 1"):
        ratings_over_orders(make_game_votes(("ada", "bo")), Elo(), 1)
