"""Where no rating exists, it is said whose, and why; a number is never made up."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, board
from judging.stats.ratings.connectivity import connectivity, strongly_connected
from judging.stats.ratings.counts import Counts, counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome
from tests.judging.synthetic_votes import told

A, TIE = Outcome.A, Outcome.TIE
NAMES = ("ada", "bo", "cy", "di")


def rated(votes) -> dict[str, float | None]:
    return {one.contestant: one.rating and one.rating.value for one in board(votes).standings}


def test_who_is_unbeaten_stands_first_without_a_number_and_the_others_keep_theirs():
    votes = told(NAMES[:3], (0, 1, A), (0, 2, A), (1, 2, A), (2, 1, A), (1, 2, A))
    found = board(votes)
    assert [one.contestant for one in found.standings] == ["ada", "bo", "cy"]
    assert rated(votes)["ada"] is None
    assert rated(votes)["bo"] == pytest.approx(1000 + 400 * np.log10(2) / 2)
    assert found.sentences[0] == "ada won every comparison: its rating has no upper bound, so it has none."
    assert (
        "Ratings hold only within each of these groups, and are not comparable between them: bo, cy." in found.sentences
    )


def test_who_always_lost_stands_last_without_a_number():
    found = board(told(NAMES[:3], (1, 0, A), (2, 0, A), (1, 2, A), (2, 1, A)))
    assert found.standings[-1].contestant == "ada"
    assert found.sentences[0] == "ada lost every comparison: its rating has no lower bound, so it has none."


def test_pairs_that_never_met_are_groups_of_their_own():
    votes = told(NAMES, (0, 1, A), (1, 0, A), (0, 1, A), (2, 3, A), (3, 2, A))
    found = board(votes)
    assert "No comparison joins these, so nothing says which is better: ada, bo; cy, di." in found.sentences
    assert [(one.group, one.contestant) for one in found.standings] == [(1, "ada"), (1, "bo"), (2, "cy"), (2, "di")]
    assert rated(votes)["cy"] == rated(votes)["di"] == 1000


def test_two_groups_of_which_one_always_wins_are_told_in_that_order():
    within = [(2, 3, A), (3, 2, A), (0, 1, A), (1, 0, A)]
    found = connectivity(counts(told(NAMES, *within, (2, 0, A), (3, 1, A))))
    assert found.groups == ((2, 3), (0, 1))
    assert found.unbeaten == found.winless == ()


def test_one_vote_is_told_and_gives_no_number():
    votes = told(NAMES[:2], (0, 1, A))
    assert rated(votes) == {"ada": None, "bo": None}
    assert len(board(votes).sentences) == 2


def test_one_tie_makes_equals_of_unknown_sureness():
    (ada, bo) = board(told(NAMES[:2], (0, 1, TIE))).standings
    assert (ada.rating.value, bo.rating.value) == (1000, 1000)
    assert (ada.rating.low, ada.p_first, ada.rank_range) == (None, None, None)
    assert "nothing says how sure" in " ".join(board(told(NAMES[:2], (0, 1, TIE))).sentences)


@pytest.mark.parametrize("votes", [told(NAMES[:2]), told(()), told(NAMES[:2], (0, 1, Outcome.UNPARSED))])
def test_no_vote_gives_a_sentence_and_no_number(votes):
    found = board(votes)
    assert found.sentences == ("There is no vote that counts, so there are no ratings.",)
    assert all(one.rating is None for one in found.standings)


def test_who_was_never_compared_is_named():
    found = board(told(NAMES[:3], (0, 1, A), (1, 0, A)))
    assert found.sentences[0] == "cy was in no comparison that counts: it has no rating."


def test_a_declared_prior_gives_the_unbeaten_a_number_and_says_so():
    votes = told(NAMES[:2], *[(0, 1, A)] * 9)
    found = board(votes, RatingOptions(prior=0.5))
    assert found.standings[0].rating.value - found.standings[1].rating.value == pytest.approx(400 * np.log10(19))
    assert "Every pair that met was given 0.5 wins each way: ratings are drawn together by that." in found.sentences


def test_a_prior_joins_nobody_who_never_met():
    found = board(told(NAMES, (0, 1, A), (2, 3, A)), RatingOptions(prior=1.0))
    assert [one.group for one in found.standings] == [1, 1, 2, 2]


def test_a_fit_of_what_has_no_ratings_is_marked_among_those_that_have():
    wins = np.array([[[0, 2], [1, 0]], [[0, 2], [0, 0]]], dtype=float)
    summed = Counts(wins, np.zeros_like(wins))
    assert strongly_connected(summed).tolist() == [True, False]
    assert fit(summed).failed.tolist() == [False, True]
    assert fit(summed).theta[0] == pytest.approx([np.log(2) / 2, -np.log(2) / 2])


def test_nearly_unbeaten_contestants_are_found_however_far_away():
    wins = np.array([[0, 1e9, 1e9], [1, 0, 5], [1, 5, 0]])
    assert fit(Counts(wins, np.zeros_like(wins))).theta[0] == pytest.approx(np.log(1e9) * 2 / 3, rel=1e-9)


@pytest.mark.parametrize("ties", ["half-win", "davidson"])
def test_only_ties_are_half_wins_or_nothing(ties):
    found = fit(counts(told(NAMES[:2], (0, 1, TIE), (0, 1, TIE))), ties)
    assert bool(found.failed) == (ties == "davidson")


def test_ties_that_nothing_bounds_give_no_davidson_ratings_and_say_so():
    # One win and one tie: strengths ever further apart, and ties ever likelier, fit ever better.
    votes = told(NAMES[:2], (0, 1, A), (0, 1, TIE))
    assert rated(votes)["ada"] > 1000
    found = board(votes, RatingOptions("davidson"))
    assert [one.rating for one in found.standings] == [None, None]
    assert found.sentences[0].startswith("Wins and ties of ada, bo leave davidson ratings without bounds")
    assert not fit(counts(told(NAMES[:2], (0, 1, A), (0, 1, A), (1, 0, A), (0, 1, TIE))), "davidson").failed


def test_a_circle_with_more_wins_than_ties_bounds_them():
    line = [(0, 1, A), (1, 2, A)]
    assert fit(counts(told(NAMES[:3], *line, (0, 2, TIE))), "davidson").failed == [False]
    assert fit(counts(told(NAMES[:3], *line, (0, 1, TIE), (1, 2, TIE))), "davidson").failed == [True]


def test_davidson_without_ties_is_bradley_terry():
    votes = told(NAMES[:2], (0, 1, A), (0, 1, A), (1, 0, A))
    assert fit(counts(votes), "davidson").nu == 0
    assert fit(counts(votes), "davidson").theta == pytest.approx(fit(counts(votes)).theta)
