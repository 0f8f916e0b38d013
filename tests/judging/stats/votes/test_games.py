"""Rows of two games are two judgments, letters are winners where a side is a model, and ratings are no judgments."""

from __future__ import annotations

import json

import pytest

from judging.stats.votes import Outcome, read

PAIR = {"question_id": 81, "model_1": "ada", "model_2": "bo", "judge": ["gpt-4", "pair-v2"], "turn": 1}


def said(**row):
    """(first, second, outcome) of each judgment, and what was not understood."""
    found = read(json.dumps(row), "x")
    judgments = [(one.model_a, one.model_b, one.outcome(0.5)) for one in found.judgments]
    assert all(one.order_known for one in found.judgments)
    return judgments, [str(problem) for problem in found.problems]


@pytest.mark.parametrize(
    ("first", "second", "outcomes"),
    [
        ("model_1", "model_1", (Outcome.A, Outcome.B)),
        ("model_2", "model_2", (Outcome.B, Outcome.A)),
        ("model_1", "model_2", (Outcome.A, Outcome.A)),
        ("tie", "error", (Outcome.TIE, Outcome.ERROR)),
    ],
)
def test_a_pair_of_mt_bench_is_two_judgments_each_with_who_stood_first(first, second, outcomes):
    judgments, problems = said(**PAIR, g1_winner=first, g2_winner=second)
    assert judgments == [("ada", "bo", outcomes[0]), ("bo", "ada", outcomes[1])]
    assert problems == []
    (one, other) = read(json.dumps({**PAIR, "g1_winner": "tie", "g2_winner": "tie"}), "x").judgments
    assert (one.prompt, one.annotator) == (other.prompt, other.annotator) == ("81", "gpt-4 pair-v2")


def test_a_game_that_is_not_understood_is_named_and_the_other_is_kept():
    judgments, problems = said(**PAIR, g1_winner=None, g2_winner="tie")
    assert judgments == [("bo", "ada", Outcome.TIE)]
    assert problems[0].startswith("x, line 1: has winner None; it is one of model_a, ")


@pytest.mark.parametrize("winner", ["A", "[[A]]", "B", "[[B]]", "C", "[[C]]", "tie (inconsistent)"])
def test_letters_are_sides_and_a_judge_who_contradicts_itself_ties(winner):
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": winner}
    expected = {"A": Outcome.A, "B": Outcome.B}.get(winner.strip("[]"), Outcome.TIE)
    assert said(**row) == ([("ada", "bo", expected)], [])


def test_a_letter_against_the_order_is_refused():
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": "A", "order_ab": ["bo", "ada"]}
    assert said(**row)[1] == [
        "x, line 1: has order_ab against model_a and model_b, which leaves open whose letter the winner is"
    ]


@pytest.mark.parametrize("ratings", [{"ada": 1000.0, "bo": 1200}, {"helpfulness": {"ada": 1000.0}, "harmlessness": {}}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_ratings_is_told_from_judgments(ratings, indent):
    (problem,) = read(json.dumps(ratings, indent=indent), "elo.json").problems
    assert problem.why == "holds ratings and no judgments: import the judgments that they were made of"


def test_one_judgment_over_several_lines_is_one():
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": "tie"}
    assert len(read("\ufeff" + json.dumps(row, indent=1), "x").judgments) == 1
