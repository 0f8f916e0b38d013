"""Online Elo: one order after the other and all at once are the same."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import Elo, over_orders, single_pass
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import invented, told


def test_a_first_win_moves_half_of_k():
    assert single_pass(told(("ada", "bo"), (0, 1, Outcome.A)), Elo()).tolist() == [1016, 984]


def test_many_orders_at_once_are_single_passes():
    made, elo = invented(size=120), Elo(shuffle=None)
    rng = np.random.default_rng(5)
    one_by_one = np.array([single_pass(made.where(rng.permutation(120)), elo) for _ in range(7)])
    found = over_orders(made, elo, 7, seed=5)
    assert found.mean == pytest.approx(one_by_one.mean(axis=0), abs=1e-9)
    assert found.sd == pytest.approx(one_by_one.std(axis=0, ddof=1), abs=1e-9)
    assert found.spread == pytest.approx(np.ptp(one_by_one, axis=0), abs=1e-9)


def test_orders_in_several_parts_are_the_same_orders(monkeypatch):
    made = invented(size=120)
    whole = over_orders(made, Elo(), 10).mean
    monkeypatch.setattr("judging.stats.ratings.online_elo.CHUNK", 300)
    assert over_orders(made, Elo(), 10).mean == pytest.approx(whole, abs=1e-9)


def test_a_failed_judgment_is_a_tie_only_as_published():
    made = told(("ada", "bo"), (0, 1, Outcome.A), (0, 1, Outcome.UNPARSED))
    assert single_pass(made, Elo(shuffle=None, missing_as_tie=False)).tolist() == [1016, 984]
    assert single_pass(made, Elo(shuffle=None))[0] < 1016


def test_no_votes_move_nobody():
    none = told(("ada", "bo"))
    assert single_pass(none, Elo()).tolist() == [1000, 1000]
    assert over_orders(none, Elo(), 3).spread.tolist() == [0, 0]


def test_one_order_is_no_spread():
    with pytest.raises(ValueError, match="there must be at least two orders, not 1"):
        over_orders(told(("ada", "bo")), Elo(), 1)
