"""Agreement of a scorer's preferences with those of judges: by hand, by contestant and by category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import NO_SCORED_VOTE, compare_with_scorer
from judging.stats.votes import Outcome, Votes
from tests.judging.synthetic_votes import make_game_votes, make_random_votes

A, B, TIE, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.ERROR
NONE = np.nan
ADA, BO, CY = 0, 1, 2
SCORES = np.array([[3, 2, 1], [1, 2, 3], [5, 5, 5], [0, 1, NONE]])


def make_votes() -> Votes:
    """Return votes on four prompts of two categories; ties and failures decide nothing."""
    games = [
        (0, ADA, BO, A), (0, BO, ADA, A), (0, ADA, CY, A), (0, ADA, CY, TIE),
        (1, ADA, BO, A), (1, BO, CY, B), (1, BO, CY, ERROR),
        (2, ADA, BO, A),
        (3, ADA, BO, B), (3, ADA, CY, A),
    ]  # fmt: skip
    ballots = make_game_votes(("ada", "bo", "cy"), *[game[1:] for game in games])
    prompt = np.array([game[0] for game in games])
    return replace(
        ballots, prompts=("p0", "p1", "p2", "p3"), prompt=prompt, kinds=(("odd",), ("even",)),
        kind=np.where(prompt % 2 == 0, 1, 0),
    )  # fmt: skip


def test_decided_votes_on_unequal_scores_are_counted():
    comparison = compare_with_scorer(make_votes(), SCORES)
    # p0: right, wrong, right. p1: wrong, right. p2: equal. p3: right, and one that was not scored.
    assert (comparison.all.votes, comparison.unscored) == (6, 2)
    assert comparison.all.alike.value == pytest.approx(4 / 6)


def test_each_contestant_has_share_and_overrating():
    ada, bo, cy = compare_with_scorer(make_votes(), SCORES).contestants
    assert [row.all.votes for row in (ada, bo, cy)] == [5, 5, 2]
    assert ada.all.alike.value == pytest.approx(3 / 5)
    assert (ada.said.value, ada.won.value) == (3 / 5, 3 / 5)
    assert (cy.said.value, cy.won.value, cy.over.value) == (1 / 2, 1 / 2, 0)
    assert bo.over.value == pytest.approx(bo.said.value - bo.won.value)


def test_overrated_contestant_is_detected():
    ballots = make_random_votes(size=3000, contestants=3, prompts=100, tie_rate=0, theta=np.zeros(3))
    scores = np.tile([1.0, 0.0, 0.0], (100, 1)) + np.random.default_rng(1).normal(0, 0.01, (100, 3))
    rows = compare_with_scorer(ballots, scores).contestants
    assert rows[0].over.low > 0.4 and rows[0].said.value == 1
    assert rows[1].over.high < 0 and rows[2].over.high < 0


def test_each_category_has_its_own_share():
    comparison = compare_with_scorer(make_votes(), SCORES)
    assert {name: share.votes for name, share in comparison.categories.items()} == {"odd": 3, "even": 3}
    assert comparison.categories["even"].alike.value == pytest.approx(2 / 3)
    assert comparison.cells[CY, "odd"].alike.value == 1 and comparison.cells[CY, "even"].votes == 1
    assert sum(share.votes for share in comparison.cells.values()) == 2 * comparison.all.votes


def test_scorer_without_scores_has_no_share():
    comparison = compare_with_scorer(make_votes(), np.full((4, 3), NONE))
    assert (comparison.all.votes, comparison.all.alike.value, comparison.all.alike.why) == (0, None, NO_SCORED_VOTE)
    assert comparison.categories == {} and comparison.contestants[ADA].over.why == NO_SCORED_VOTE
    assert comparison.unscored == 8
