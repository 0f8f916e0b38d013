"""A missing rating is reported with its contestant and reason; a number is never invented."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, compute_board
from judging.stats.ratings.connectivity import are_strongly_connected, check_connectivity
from judging.stats.ratings.counts import Counts, pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome
from tests.cases import each_case
from tests.judging.synthetic_votes import make_game_votes

A, TIE = Outcome.A, Outcome.TIE
NAMES = ("ada", "bo", "cy", "di")


def ratings_of(votes) -> dict[str, float | None]:
    return {
        standing.contestant: standing.rating and standing.rating.value for standing in compute_board(votes).standings
    }


def test_unbeaten_contestant_is_first_without_rating():
    votes = make_game_votes(NAMES[:3], (0, 1, A), (0, 2, A), (1, 2, A), (2, 1, A), (1, 2, A))
    result = compute_board(votes)
    assert [standing.contestant for standing in result.standings] == ["ada", "bo", "cy"]
    assert ratings_of(votes)["ada"] is None
    assert ratings_of(votes)["bo"] == pytest.approx(1000 + 400 * np.log10(2) / 2)
    assert result.sentences[0] == "ada won every comparison: its rating has no upper bound, so it has none."
    assert (
        "Ratings hold only within each of these groups, and are not comparable between them: bo, cy."
        in result.sentences
    )


def test_winless_contestant_is_last_without_rating():
    result = compute_board(make_game_votes(NAMES[:3], (1, 0, A), (2, 0, A), (1, 2, A), (2, 1, A)))
    assert result.standings[-1].contestant == "ada"
    assert result.sentences[0] == "ada lost every comparison: its rating has no lower bound, so it has none."


def test_pairs_that_never_met_are_groups_of_their_own():
    votes = make_game_votes(NAMES, (0, 1, A), (1, 0, A), (0, 1, A), (2, 3, A), (3, 2, A))
    result = compute_board(votes)
    assert "No comparison joins these, so nothing says which is better: ada, bo; cy, di." in result.sentences
    assert [(standing.group, standing.contestant) for standing in result.standings] == [
        (1, "ada"),
        (1, "bo"),
        (2, "cy"),
        (2, "di"),
    ]
    assert ratings_of(votes)["cy"] == ratings_of(votes)["di"] == 1000


def test_groups_are_ordered_by_wins_between_them():
    within = [(2, 3, A), (3, 2, A), (0, 1, A), (1, 0, A)]
    connected = check_connectivity(pair_counts(make_game_votes(NAMES, *within, (2, 0, A), (3, 1, A))))
    assert connected.groups == ((2, 3), (0, 1))
    assert connected.unbeaten == connected.winless == ()


def test_single_vote_gives_no_ratings():
    votes = make_game_votes(NAMES[:2], (0, 1, A))
    assert ratings_of(votes) == {"ada": None, "bo": None}
    assert len(compute_board(votes).sentences) == 2


def test_single_tie_gives_equal_ratings_without_intervals():
    (ada, bo) = compute_board(make_game_votes(NAMES[:2], (0, 1, TIE))).standings
    assert (ada.rating.value, bo.rating.value) == (1000, 1000)
    assert (ada.rating.low, ada.p_first, ada.rank_range) == (None, None, None)
    assert "nothing says how sure" in " ".join(compute_board(make_game_votes(NAMES[:2], (0, 1, TIE))).sentences)


@each_case(
    "votes", [make_game_votes(NAMES[:2]), make_game_votes(()), make_game_votes(NAMES[:2], (0, 1, Outcome.UNPARSED))]
)
def test_board_without_votes_gives_reason(votes):
    result = compute_board(votes)
    assert result.sentences == ("There is no vote that counts, so there are no ratings.",)
    assert all(standing.rating is None for standing in result.standings)


def test_contestant_without_comparisons_is_named():
    result = compute_board(make_game_votes(NAMES[:3], (0, 1, A), (1, 0, A)))
    assert result.sentences[0] == "cy was in no comparison that counts: it has no rating."


def test_prior_gives_unbeaten_contestant_a_rating():
    votes = make_game_votes(NAMES[:2], *[(0, 1, A)] * 9)
    result = compute_board(votes, RatingOptions(prior=0.5))
    assert result.standings[0].rating.value - result.standings[1].rating.value == pytest.approx(400 * np.log10(19))
    assert "Every pair that met was given 0.5 wins each way: ratings are drawn together by that." in result.sentences


def test_prior_does_not_connect_unmet_groups():
    result = compute_board(make_game_votes(NAMES, (0, 1, A), (2, 3, A)), RatingOptions(prior=1.0))
    assert [standing.group for standing in result.standings] == [1, 1, 2, 2]


def test_batched_fit_marks_unsolvable_tables():
    wins = np.array([[[0, 2], [1, 0]], [[0, 2], [0, 0]]], dtype=float)
    summed = Counts(wins, np.zeros_like(wins))
    assert are_strongly_connected(summed).tolist() == [True, False]
    assert fit(summed).failed.tolist() == [False, True]
    assert fit(summed).theta[0] == pytest.approx([np.log(2) / 2, -np.log(2) / 2])


def test_fit_converges_for_nearly_unbeaten_contestant():
    wins = np.array([[0, 1e9, 1e9], [1, 0, 5], [1, 5, 0]])
    assert fit(Counts(wins, np.zeros_like(wins))).theta[0] == pytest.approx(np.log(1e9) * 2 / 3, rel=1e-9)


@pytest.mark.parametrize("ties", ["half-win", "davidson"])
def test_ties_alone_fail_only_for_davidson(ties):
    fitted = fit(pair_counts(make_game_votes(NAMES[:2], (0, 1, TIE), (0, 1, TIE))), ties)
    assert bool(fitted.failed) == (ties == "davidson")


def test_unbounded_ties_give_no_davidson_ratings():
    # One win and one tie: strengths ever further apart, and ties ever likelier, fit ever better.
    votes = make_game_votes(NAMES[:2], (0, 1, A), (0, 1, TIE))
    assert ratings_of(votes)["ada"] > 1000
    result = compute_board(votes, RatingOptions("davidson"))
    assert [standing.rating for standing in result.standings] == [None, None]
    assert result.sentences[0].startswith("Wins and ties of ada, bo leave davidson ratings without bounds")
    assert not fit(
        pair_counts(make_game_votes(NAMES[:2], (0, 1, A), (0, 1, A), (1, 0, A), (0, 1, TIE))), "davidson"
    ).failed


def test_cycle_with_more_wins_than_ties_bounds_davidson():
    line = [(0, 1, A), (1, 2, A)]
    assert fit(pair_counts(make_game_votes(NAMES[:3], *line, (0, 2, TIE))), "davidson").failed == [False]
    assert fit(pair_counts(make_game_votes(NAMES[:3], *line, (0, 1, TIE), (1, 2, TIE))), "davidson").failed == [True]


def test_davidson_without_ties_is_bradley_terry():
    votes = make_game_votes(NAMES[:2], (0, 1, A), (0, 1, A), (1, 0, A))
    assert fit(pair_counts(votes), "davidson").nu == 0
    assert fit(pair_counts(votes), "davidson").theta == pytest.approx(fit(pair_counts(votes)).theta)
