"""Votes as arrays refuse what does not fit, by the vote's number, and are cut and counted without losing any."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings.counts import both_bad, cells, counts
from judging.stats.votes import Outcome, votes
from tests.judging.synthetic_votes import invented, told

NAMES = ("ada", "bo", "cy")


@pytest.mark.parametrize(
    ("a", "b", "outcome", "why"),
    [
        ([0, 3], [1, 1], [0, 0], "vote 2 has as its a none of the 3 there are"),
        ([0, 1], [1, 1], [0, 0], "vote 2 is between a contestant and itself"),
        ([0, 1], [1, 0], [0, 9], "vote 2 has as its outcome none of the 7 there are"),
        ([0, 1], [1], [0, 0], "b holds 1 values for 2 votes"),
    ],
)
def test_what_does_not_fit_is_named(a, b, outcome, why):
    with pytest.raises(ValueError, match=why):
        votes(NAMES, np.array(a), np.array(b), np.array(outcome))


def test_a_weight_that_is_none_is_named():
    made = told(NAMES, (0, 1, Outcome.A))
    with pytest.raises(ValueError, match="vote 1 has a weight that is not above zero"):
        type(made)(**{**vars(made), "weight": np.array([np.nan])})


def test_counts_are_those_of_a_loop_over_votes():
    made = invented(size=500)
    wins, ties = np.zeros((6, 6)), np.zeros((6, 6))
    for a, b, outcome in zip(made.a, made.b, made.outcome, strict=True):
        if outcome == Outcome.TIE:
            ties[a, b] += 1
            ties[b, a] += 1
        else:
            wins[(a, b) if outcome == Outcome.A else (b, a)] += 1
    assert (counts(made).wins == wins).all()
    assert (counts(made).ties == ties).all()
    assert counts(made).games.sum() == 2 * 500


def test_both_bad_is_a_tie_for_ratings_and_counted_apart():
    made = told(NAMES, (0, 1, Outcome.BOTH_BAD), (1, 0, Outcome.TIE), (0, 2, Outcome.A))
    assert counts(made).ties[0, 1] == 2
    assert both_bad(made)[0, 1] == both_bad(made)[1, 0] == 1


def test_judges_that_failed_count_for_nobody():
    made = told(NAMES, *((0, 1, one) for one in Outcome))
    assert len(made.counted) == 4
    assert counts(made).games[0, 1] == 4


def test_cells_of_prompts_add_up_to_all():
    made = invented(size=300)
    table = cells(made)
    parts = [table.counts((table.prompt == k).astype(float)).wins for k in range(table.prompt.max() + 1)]
    assert (np.sum(parts, axis=0) == counts(made).wins).all()


def test_votes_among_some_are_numbered_anew():
    made = told(NAMES, (0, 1, Outcome.A), (2, 1, Outcome.B), (0, 2, Outcome.A)).among((2, 1))
    assert (made.contestants, made.a.tolist(), made.b.tolist()) == (("cy", "bo"), [0], [1])
