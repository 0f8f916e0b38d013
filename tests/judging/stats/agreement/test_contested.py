"""Which comparisons are disputed, by whom, and how much."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement import Contested, contested
from judging.stats.votes import Outcome, Votes

A, B, TIE, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.ERROR
PERSON = np.array([True, True, False])
ANNA, OLA, MODEL = range(3)


def given(*rows: tuple[int, int, int, int, Outcome, int]) -> Votes:
    """Rows are prompt, annotator, a, b, outcome, who stood first."""
    prompt, annotator, a, b, outcome, first = np.array(rows, np.int64).T
    return Votes(
        ("x", "y", "z"), a, b, outcome, ("p", "q"), prompt, ("anna", "ola", "model"), annotator, first,
        np.ones(len(rows)),
    )  # fmt: skip


def only(votes: Votes, scores: np.ndarray | None = None) -> Contested:
    (found,) = contested(votes, PERSON, scores)
    return found


def test_what_all_agree_on_is_not_contested():
    assert contested(given((0, ANNA, 0, 1, A, 1), (0, MODEL, 1, 0, B, 1)), PERSON) == []


def test_split_votes_count_from_the_lower_contestants_side_whoever_stood_first():
    found = only(given((0, ANNA, 0, 1, A, 1), (0, OLA, 1, 0, A, -1), (0, OLA, 0, 1, TIE, 1)))
    assert (found.prompt, found.one, found.other) == (0, 0, 1)
    assert (found.people, found.models) == ((1, 1, 1), (0, 0, 0))
    assert found.how == {"split": 2 / 3}


def test_a_judge_who_goes_by_the_place_contradicts_itself():
    found = only(given((1, MODEL, 0, 2, A, 1), (1, MODEL, 0, 2, B, -1)))
    assert (found.swapped, found.models) == (1, (1, 0, 1))
    assert found.how == {"split": 1, "swapped": 1}


def test_people_against_models_stand_apart_from_people_against_each_other():
    found = only(given((0, ANNA, 0, 1, A, 1), (0, OLA, 0, 1, A, 1), (0, MODEL, 0, 1, B, 1)))
    assert set(found.how) == {"split", "person"} and found.how["person"] == 1


def test_a_scorer_against_the_verdict_counts_by_how_sure_it_is():
    votes = given((0, ANNA, 0, 1, A, 1), (1, ANNA, 0, 1, A, 1), (1, ANNA, 0, 2, A, 1))
    scores = np.array([[0.0, 4.0, 0.0], [1.0, 2.0, np.nan]])
    first, second = contested(votes, PERSON, scores)
    assert (first.prompt, first.apart, first.how) == (0, -4, {"scorer": 1})
    assert (second.prompt, second.apart, second.how) == (1, -1, {"scorer": 0.25})


def test_failed_judgments_dispute_nothing():
    assert contested(given((0, ANNA, 0, 1, A, 1), (0, MODEL, 0, 1, ERROR, 1)), PERSON) == []


def test_of_no_votes_nothing_is_contested():
    assert contested(given((0, ANNA, 0, 1, ERROR, 1)), PERSON) == []
