"""Whom a scorer puts higher, against whom judges prefer: counted by hand, by contestant and by category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import NOTHING, against
from judging.stats.votes import Outcome, Votes
from tests.judging.synthetic_votes import invented, told

A, B, TIE, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.ERROR
NONE = np.nan
ADA, BO, CY = 0, 1, 2
SCORES = np.array([[3, 2, 1], [1, 2, 3], [5, 5, 5], [0, 1, NONE]])


def held() -> Votes:
    """Votes on four prompts of two categories; ties and failures decide nothing."""
    games = [
        (0, ADA, BO, A), (0, BO, ADA, A), (0, ADA, CY, A), (0, ADA, CY, TIE),
        (1, ADA, BO, A), (1, BO, CY, B), (1, BO, CY, ERROR),
        (2, ADA, BO, A),
        (3, ADA, BO, B), (3, ADA, CY, A),
    ]  # fmt: skip
    made = told(("ada", "bo", "cy"), *[game[1:] for game in games])
    prompt = np.array([game[0] for game in games])
    return replace(
        made, prompts=("p0", "p1", "p2", "p3"), prompt=prompt, kinds=(("odd",), ("even",)),
        kind=np.where(prompt % 2 == 0, 1, 0),
    )  # fmt: skip


def test_decided_votes_on_unequal_scores_are_counted():
    found = against(held(), SCORES)
    # p0: right, wrong, right. p1: wrong, right. p2: equal. p3: right, and one that was not scored.
    assert (found.all.votes, found.unscored) == (6, 2)
    assert found.all.alike.value == pytest.approx(4 / 6)


def test_each_contestant_has_its_own_share_and_what_the_scorer_thinks_too_much_of_it():
    ada, bo, cy = against(held(), SCORES).contestants
    assert [one.all.votes for one in (ada, bo, cy)] == [5, 5, 2]
    assert ada.all.alike.value == pytest.approx(3 / 5)
    assert (ada.said.value, ada.won.value) == (3 / 5, 3 / 5)
    assert (cy.said.value, cy.won.value, cy.over.value) == (1 / 2, 1 / 2, 0)
    assert bo.over.value == pytest.approx(bo.said.value - bo.won.value)


def test_whom_the_scorer_overrates_is_seen_for_sure():
    made = invented(size=3000, contestants=3, prompts=100, tie_rate=0, theta=np.zeros(3))
    scores = np.tile([1.0, 0.0, 0.0], (100, 1)) + np.random.default_rng(1).normal(0, 0.01, (100, 3))
    found = against(made, scores).contestants
    assert found[0].over.low > 0.4 and found[0].said.value == 1
    assert found[1].over.high < 0 and found[2].over.high < 0


def test_each_category_has_its_own_share():
    found = against(held(), SCORES)
    assert {name: one.votes for name, one in found.categories.items()} == {"odd": 3, "even": 3}
    assert found.categories["even"].alike.value == pytest.approx(2 / 3)
    assert found.cells[CY, "odd"].alike.value == 1 and found.cells[CY, "even"].votes == 1
    assert sum(one.votes for one in found.cells.values()) == 2 * found.all.votes


def test_a_scorer_that_scored_nothing_says_nothing():
    found = against(held(), np.full((4, 3), NONE))
    assert (found.all.votes, found.all.alike.value, found.all.alike.why) == (0, None, NOTHING)
    assert found.categories == {} and found.contestants[ADA].over.why == NOTHING
    assert found.unscored == 8
