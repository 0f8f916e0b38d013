"""Votes as arrays refuse invalid values by the vote's number, and are selected and counted without loss."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings.counts import both_bad_games, build_cells, pair_counts
from judging.stats.votes import Outcome, votes_from_arrays
from tests.cases import each_case
from tests.judging.synthetic_votes import make_game_votes, make_random_votes

NAMES = ("ada", "bo", "cy")


@each_case(
    ("a", "b", "outcome", "reason"),
    [
        ([0, 3], [1, 1], [0, 0], "vote 2 has as its a none of the 3 there are"),
        ([0, 1], [1, 1], [0, 0], "vote 2 is between a contestant and itself"),
        ([0, 1], [1, 0], [0, 9], "vote 2 has as its outcome none of the 7 there are"),
        ([0, 1], [1], [0, 0], "b holds 1 values for 2 votes"),
    ],
)
def test_invalid_vote_arrays_are_refused_by_number(a, b, outcome, reason):
    with pytest.raises(ValueError, match=reason):
        votes_from_arrays(NAMES, np.array(a), np.array(b), np.array(outcome))


def test_invalid_weight_is_refused():
    ballots = make_game_votes(NAMES, (0, 1, Outcome.A))
    with pytest.raises(ValueError, match="vote 1 has a weight that is not above zero"):
        type(ballots)(**{**vars(ballots), "weight": np.array([np.nan])})


def test_counts_match_loop_over_votes():
    ballots = make_random_votes(size=500)
    wins, ties = np.zeros((6, 6)), np.zeros((6, 6))
    for a, b, outcome in zip(ballots.a, ballots.b, ballots.outcome, strict=True):
        if outcome == Outcome.TIE:
            ties[a, b] += 1
            ties[b, a] += 1
        else:
            wins[(a, b) if outcome == Outcome.A else (b, a)] += 1
    assert (pair_counts(ballots).wins == wins).all()
    assert (pair_counts(ballots).ties == ties).all()
    assert pair_counts(ballots).games.sum() == 2 * 500


def test_both_bad_counts_as_tie():
    ballots = make_game_votes(NAMES, (0, 1, Outcome.BOTH_BAD), (1, 0, Outcome.TIE), (0, 2, Outcome.A))
    assert pair_counts(ballots).ties[0, 1] == 2
    assert both_bad_games(ballots)[0, 1] == both_bad_games(ballots)[1, 0] == 1


def test_failed_votes_are_not_counted():
    ballots = make_game_votes(NAMES, *((0, 1, outcome) for outcome in Outcome))
    assert len(ballots.counted) == 4
    assert pair_counts(ballots).games[0, 1] == 4


def test_prompt_cells_sum_to_counts():
    ballots = make_random_votes(size=300)
    table = build_cells(ballots)
    parts = [table.counts((table.prompt == k).astype(float)).wins for k in range(table.prompt.max() + 1)]
    assert (np.sum(parts, axis=0) == pair_counts(ballots).wins).all()


def test_votes_among_contestants_are_renumbered():
    ballots = make_game_votes(NAMES, (0, 1, Outcome.A), (2, 1, Outcome.B), (0, 2, Outcome.A)).between_contestants(
        (2, 1)
    )
    assert (ballots.contestants, ballots.a.tolist(), ballots.b.tolist()) == (("cy", "bo"), [0], [1])
