"""Contested comparisons: which, by whom, and how much."""

from __future__ import annotations

import numpy as np

from judging.stats.agreement import ContestedPair, contested_pairs
from judging.stats.votes import Outcome, Votes

A, B, TIE, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.ERROR
PERSON = np.array([True, True, False])
ANNA, OLA, MODEL = range(3)


def make_votes(*rows: tuple[int, int, int, int, Outcome, int]) -> Votes:
    """Return votes; rows are prompt, annotator, a, b, outcome, first shown."""
    prompt, annotator, a, b, outcome, first = np.array(rows, np.int64).T
    return Votes(
        ("x", "y", "z"), a, b, outcome, ("p", "q"), prompt, ("anna", "ola", "model"), annotator, first,
        np.ones(len(rows)),
    )  # fmt: skip


def only(votes: Votes, scores: np.ndarray | None = None) -> ContestedPair:
    (comparison,) = contested_pairs(votes, PERSON, scores)
    return comparison


def test_unanimous_comparison_is_not_contested():
    assert contested_pairs(make_votes((0, ANNA, 0, 1, A, 1), (0, MODEL, 1, 0, B, 1)), PERSON) == []


def test_split_votes_are_counted_from_first_contestants_side():
    comparison = only(make_votes((0, ANNA, 0, 1, A, 1), (0, OLA, 1, 0, A, -1), (0, OLA, 0, 1, TIE, 1)))
    assert (comparison.prompt, comparison.one, comparison.other) == (0, 0, 1)
    assert (comparison.people, comparison.models) == ((1, 1, 1), (0, 0, 0))
    assert comparison.how == {"split": 2 / 3}


def test_judge_with_position_bias_contradicts_itself():
    comparison = only(make_votes((1, MODEL, 0, 2, A, 1), (1, MODEL, 0, 2, B, -1)))
    assert (comparison.swapped, comparison.models) == (1, (1, 0, 1))
    assert comparison.how == {"split": 1, "swapped": 1}


def test_people_against_models_is_a_separate_reason():
    comparison = only(make_votes((0, ANNA, 0, 1, A, 1), (0, OLA, 0, 1, A, 1), (0, MODEL, 0, 1, B, 1)))
    assert set(comparison.how) == {"split", "person"} and comparison.how["person"] == 1


def test_scorer_disagreement_is_weighted_by_score_difference():
    votes = make_votes((0, ANNA, 0, 1, A, 1), (1, ANNA, 0, 1, A, 1), (1, ANNA, 0, 2, A, 1))
    scores = np.array([[0.0, 4.0, 0.0], [1.0, 2.0, np.nan]])
    first, second = contested_pairs(votes, PERSON, scores)
    assert (first.prompt, first.apart, first.how) == (0, -4, {"scorer": 1})
    assert (second.prompt, second.apart, second.how) == (1, -1, {"scorer": 0.25})


def test_failed_judgments_dispute_nothing():
    assert contested_pairs(make_votes((0, ANNA, 0, 1, A, 1), (0, MODEL, 0, 1, ERROR, 1)), PERSON) == []


def test_failed_votes_alone_are_not_contested():
    assert contested_pairs(make_votes((0, ANNA, 0, 1, ERROR, 1)), PERSON) == []
