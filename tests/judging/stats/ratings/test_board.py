"""A board of votes: differences, records, ranks, and contestants that are not comparable with the anchor."""

from __future__ import annotations

import json

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, compute_board, cyclic_triples, held_out_loss, residuals, win_matrix
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.goodness_of_fit import COIN_LOG_LOSS
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import make_game_votes, make_random_votes

A, TIE, BAD = Outcome.A, Outcome.TIE, Outcome.BOTH_BAD


def test_board_is_sorted_with_consistent_differences():
    result = compute_board(make_random_votes())
    ratings = [standing.rating.value for standing in result.standings]
    assert ratings == sorted(ratings, reverse=True)
    assert np.mean(ratings) == pytest.approx(1000)
    for standing, after in zip(result.standings, result.standings[1:], strict=False):
        assert standing.ahead.of == after.contestant
        assert standing.ahead.by.value == pytest.approx(standing.rating.value - after.rating.value)
        assert standing.ahead.by.low < standing.ahead.by.value < standing.ahead.by.high
    assert sum(standing.p_first for standing in result.standings) == pytest.approx(1)


def test_records_count_wins_losses_and_ties():
    ada, bo = sorted(
        compute_board(make_game_votes(("ada", "bo"), (0, 1, A), (1, 0, A), (0, 1, A), (0, 1, BAD))).standings,
        key=lambda standing: standing.contestant,
    )
    assert vars(ada.record) == {"votes": 4, "wins": 2, "losses": 1, "ties": 1}
    assert vars(bo.record) == {"votes": 4, "wins": 1, "losses": 2, "ties": 1}


def test_contestant_not_comparable_with_anchor_has_no_anchored_rating():
    within = [(0, 1, A), (1, 0, A), (2, 3, A), (3, 2, A)]
    result = compute_board(make_game_votes(("ada", "bo", "cy", "di"), *within), RatingOptions(anchor="ada"))
    anchored = {standing.contestant: standing.anchored and standing.anchored.value for standing in result.standings}
    assert anchored == {"ada": 1000, "bo": 1000, "cy": None, "di": None}
    assert "ada is not comparable with everybody: who is not has no anchored rating." in result.sentences


def test_board_serializes_to_json_without_nan():
    text = json.dumps(compute_board(make_game_votes(("ada", "bo"), (0, 1, A))).to_json(), allow_nan=False)
    assert json.loads(text)["standings"][0]["rating"] is None


def test_board_ignores_order_of_votes():
    ballots = make_random_votes(size=300)
    turned = ballots.select(np.arange(len(ballots))[::-1])
    assert compute_board(turned).standings == compute_board(ballots).standings


def test_a_win_matrix_has_shares_with_n_and_wilsons_interval():
    matrix = win_matrix(make_game_votes(("ada", "bo", "cy"), *[(0, 1, A)] * 7, *[(1, 0, A)] * 2, (0, 1, BAD)))
    assert (matrix.share[0, 1], matrix.games[0, 1], matrix.both_bad[0, 1]) == (0.75, 10, 1)
    # Wilson's interval of 7.5 in 10, by his formula.
    assert (matrix.interval.low[0, 1], matrix.interval.high[0, 1]) == pytest.approx((0.4422, 0.9191), abs=5e-5)
    assert matrix.interval.low[1, 0] == pytest.approx(1 - matrix.interval.high[0, 1])
    assert np.isnan(matrix.share[0, 2])
    assert np.isnan(matrix.interval.low[0, 2])


def test_held_out_log_loss_beats_chance_only_with_differences():
    strong = make_random_votes(3000, prompts=200, tie_rate=0, theta=np.linspace(-2, 2, 6))
    assert held_out_loss(strong).log_loss < 0.55
    alike = make_random_votes(3000, prompts=200, theta=np.zeros(6))
    assert held_out_loss(alike).log_loss == pytest.approx(COIN_LOG_LOSS, abs=0.01)
    assert held_out_loss(strong).votes == 3000


def test_too_few_prompts_are_not_held_out():
    assert held_out_loss(make_random_votes(size=100, prompts=3)) is None
    assert held_out_loss(make_game_votes(("ada", "bo"), *[(0, 1, A)] * 10)) is None


def test_a_circle_of_three_is_counted():
    circle = make_game_votes(
        ("ada", "bo", "cy", "di"), (0, 1, A), (1, 2, A), (2, 0, A), (0, 3, A), (1, 3, A), (2, 3, TIE)
    )
    assert vars(cyclic_triples(circle)) == {"cyclic": 1, "all": 2}
    line = make_game_votes(("ada", "bo", "cy"), (0, 1, A), (1, 2, A), (0, 2, A))
    assert vars(cyclic_triples(line)) == {"cyclic": 0, "all": 1}


def test_residuals_are_large_only_for_cyclic_votes():
    ballots = make_random_votes(size=5000)
    assert np.nanmax(abs(residuals(ballots, fit(pair_counts(ballots)).theta))) < 3.5
    circle = make_game_votes(("ada", "bo", "cy"), *[(0, 1, A)] * 30, *[(1, 2, A)] * 30, *[(2, 0, A)] * 30)
    assert residuals(circle, np.zeros(3))[0, 1] == pytest.approx(30 / 2 / np.sqrt(7.5))
