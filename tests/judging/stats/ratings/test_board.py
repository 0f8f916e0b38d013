"""A board holds what its votes say: differences, records, ranks, and who cannot be compared with the anchor."""

from __future__ import annotations

import json

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, board, cyclic_triples, held_out, residuals, win_matrix
from judging.stats.ratings.counts import counts
from judging.stats.ratings.goodness_of_fit import COIN
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import invented, told

A, TIE, BAD = Outcome.A, Outcome.TIE, Outcome.BOTH_BAD


def test_it_is_sorted_and_every_difference_is_that_of_the_ratings():
    found = board(invented())
    ratings = [one.rating.value for one in found.standings]
    assert ratings == sorted(ratings, reverse=True)
    assert np.mean(ratings) == pytest.approx(1000)
    for one, after in zip(found.standings, found.standings[1:], strict=False):
        assert one.ahead.of == after.contestant
        assert one.ahead.by.value == pytest.approx(one.rating.value - after.rating.value)
        assert one.ahead.by.low < one.ahead.by.value < one.ahead.by.high
    assert sum(one.p_first for one in found.standings) == pytest.approx(1)


def test_records_are_what_happened():
    ada, bo = sorted(
        board(told(("ada", "bo"), (0, 1, A), (1, 0, A), (0, 1, A), (0, 1, BAD))).standings,
        key=lambda one: one.contestant,
    )
    assert vars(ada.record) == {"votes": 4, "wins": 2, "losses": 1, "ties": 1}
    assert vars(bo.record) == {"votes": 4, "wins": 1, "losses": 2, "ties": 1}


def test_who_is_not_comparable_with_the_anchor_has_no_anchored_rating():
    within = [(0, 1, A), (1, 0, A), (2, 3, A), (3, 2, A)]
    found = board(told(("ada", "bo", "cy", "di"), *within), RatingOptions(anchor="ada"))
    anchored = {one.contestant: one.anchored and one.anchored.value for one in found.standings}
    assert anchored == {"ada": 1000, "bo": 1000, "cy": None, "di": None}
    assert "ada is not comparable with everybody: who is not has no anchored rating." in found.sentences


def test_it_is_json_without_numbers_that_are_none():
    said = json.dumps(board(told(("ada", "bo"), (0, 1, A))).to_json(), allow_nan=False)
    assert json.loads(said)["standings"][0]["rating"] is None


def test_the_order_of_votes_changes_nothing():
    made = invented(size=300)
    turned = made.where(np.arange(len(made))[::-1])
    assert board(turned).standings == board(made).standings


def test_a_win_matrix_has_shares_with_n_and_wilsons_interval():
    found = win_matrix(told(("ada", "bo", "cy"), *[(0, 1, A)] * 7, *[(1, 0, A)] * 2, (0, 1, BAD)))
    assert (found.share[0, 1], found.games[0, 1], found.both_bad[0, 1]) == (0.75, 10, 1)
    # Wilson's interval of 7.5 in 10, by his formula.
    assert (found.interval.low[0, 1], found.interval.high[0, 1]) == pytest.approx((0.4422, 0.9191), abs=5e-5)
    assert found.interval.low[1, 0] == pytest.approx(1 - found.interval.high[0, 1])
    assert np.isnan(found.share[0, 2])
    assert np.isnan(found.interval.low[0, 2])


def test_strengths_explain_unseen_prompts_better_than_a_coin_where_there_are_any():
    strong = invented(3000, prompts=200, tie_rate=0, theta=np.linspace(-2, 2, 6))
    assert held_out(strong).log_loss < 0.55
    alike = invented(3000, prompts=200, theta=np.zeros(6))
    assert held_out(alike).log_loss == pytest.approx(COIN, abs=0.01)
    assert held_out(strong).votes == 3000


def test_too_few_prompts_are_not_held_out():
    assert held_out(invented(size=100, prompts=3)) is None
    assert held_out(told(("ada", "bo"), *[(0, 1, A)] * 10)) is None


def test_a_circle_of_three_is_counted():
    circle = told(("ada", "bo", "cy", "di"), (0, 1, A), (1, 2, A), (2, 0, A), (0, 3, A), (1, 3, A), (2, 3, TIE))
    assert vars(cyclic_triples(circle)) == {"cyclic": 1, "all": 2}
    line = told(("ada", "bo", "cy"), (0, 1, A), (1, 2, A), (0, 2, A))
    assert vars(cyclic_triples(line)) == {"cyclic": 0, "all": 1}


def test_residuals_are_small_where_strengths_say_it_all_and_large_in_a_circle():
    made = invented(size=5000)
    assert np.nanmax(abs(residuals(made, fit(counts(made)).theta))) < 3.5
    circle = told(("ada", "bo", "cy"), *[(0, 1, A)] * 30, *[(1, 2, A)] * 30, *[(2, 0, A)] * 30)
    assert residuals(circle, np.zeros(3))[0, 1] == pytest.approx(30 / 2 / np.sqrt(7.5))
