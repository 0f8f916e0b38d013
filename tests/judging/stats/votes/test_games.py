"""Rows of two games are two judgments, letters are winners on a side, and ratings are no judgments."""

from __future__ import annotations

import json

from judging.stats.votes import Outcome, read_judgments
from tests.cases import each_case

PAIR = {"question_id": 81, "model_1": "ada", "model_2": "bo", "judge": ["gpt-4", "pair-v2"], "turn": 1}


def read_row(**row):
    """Return (first, second, outcome) of each judgment, and the problems."""
    result = read_judgments(json.dumps(row), "x")
    judgments = [(judgment.model_a, judgment.model_b, judgment.outcome(0.5)) for judgment in result.judgments]
    assert all(judgment.order_known for judgment in result.judgments)
    return judgments, [str(problem) for problem in result.problems]


@each_case(
    ("first", "second", "outcomes"),
    [
        ("model_1", "model_1", (Outcome.A, Outcome.B)),
        ("model_2", "model_2", (Outcome.B, Outcome.A)),
        ("model_1", "model_2", (Outcome.A, Outcome.A)),
        ("tie", "error", (Outcome.TIE, Outcome.ERROR)),
    ],
)
def test_mt_bench_row_becomes_two_judgments(first, second, outcomes):
    judgments, problems = read_row(**PAIR, g1_winner=first, g2_winner=second)
    assert judgments == [("ada", "bo", outcomes[0]), ("bo", "ada", outcomes[1])]
    assert problems == []
    (first_game, second_game) = read_judgments(
        json.dumps({**PAIR, "g1_winner": "tie", "g2_winner": "tie"}), "x"
    ).judgments
    assert (
        (first_game.prompt, first_game.annotator)
        == (second_game.prompt, second_game.annotator)
        == ("81", "gpt-4 pair-v2")
    )


def test_invalid_game_is_reported_without_losing_the_other():
    judgments, problems = read_row(**PAIR, g1_winner=None, g2_winner="tie")
    assert judgments == [("bo", "ada", Outcome.TIE)]
    assert problems[0].startswith("x, line 1: has the unknown winner None; known are model_a, ")


@each_case("winner", ["A", "[[A]]", "B", "[[B]]", "C", "[[C]]", "tie (inconsistent)"])
def test_winner_letter_is_read_as_side(winner):
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": winner}
    expected = {"A": Outcome.A, "B": Outcome.B}.get(winner.strip("[]"), Outcome.TIE)
    assert read_row(**row) == ([("ada", "bo", expected)], [])


def test_winner_letter_against_order_is_refused():
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": "A", "order_ab": ["bo", "ada"]}
    assert read_row(**row)[1] == [
        "x, line 1: has an order_ab that contradicts model_a and model_b, so the winner's letter is ambiguous"
    ]


@each_case("ratings", [{"ada": 1000.0, "bo": 1200}, {"helpfulness": {"ada": 1000.0}, "harmlessness": {}}])
@each_case("indent", [None, 2])
def test_file_of_ratings_is_refused(ratings, indent):
    (problem,) = read_judgments(json.dumps(ratings, indent=indent), "elo.json").problems
    assert problem.reason == "contains ratings, not judgments: import the judgments that they were computed from"


def test_judgment_over_several_lines_is_read():
    row = {"model_a": "ada", "model_b": "bo", "question_id": 1, "winner": "tie"}
    assert len(read_judgments("\ufeff" + json.dumps(row, indent=1), "x").judgments) == 1
