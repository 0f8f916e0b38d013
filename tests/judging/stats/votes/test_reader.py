"""Files of judgments in both formats are read; invalid rows are reported with their lines, and the rest is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from judging.stats.votes import Outcome, list_criteria, read_judgments, votes_by_criterion
from tests.cases import each_case

PUBLISHED = {
    "model_a": "ada",
    "model_b": "bo",
    "dimension": "help",
    "prompt_id": 3,
    "scores": [8, 4.5],
    "order_ab": ["ada", "bo"],
}
ARENA = {"model_a": "ada", "model_b": "bo", "winner": "tie (bothbad)", "judge": "arena_user_7", "question_id": "q1"}


def read_judgment(**changes):
    """Return the judgment of a published row with changes; a value of ... removes the key."""
    row = {key: value for key, value in (PUBLISHED | changes).items() if value is not ...}
    result = read_judgments(json.dumps(row), "x")
    assert not result.problems, result.problems
    return result.judgments[0]


def read_problem(**changes) -> str:
    row = {key: value for key, value in (PUBLISHED | changes).items() if value is not ...}
    result = read_judgments(json.dumps(row), "x")
    assert not result.judgments
    return str(result.problems[0]).removeprefix("x, line 1: ")


def test_published_row_is_read_with_scores_and_order():
    judgment = read_judgment()
    assert (judgment.model_a, judgment.criterion, judgment.prompt, judgment.scores) == ("ada", "help", "3", (8.0, 4.5))
    assert (judgment.outcome(0.5), judgment.outcome(3.5), judgment.order_known) == (Outcome.A, Outcome.TIE, True)


def test_arena_row_is_read_with_winner_and_voter():
    (judgment,) = read_judgments(json.dumps(ARENA), "x").judgments
    assert (judgment.outcome(0.5), judgment.annotator, judgment.prompt) == (Outcome.BOTH_BAD, "arena_user_7", "q1")
    assert judgment.order_known


def test_null_scores_are_unparsed():
    assert read_judgment(scores=None).outcome(0.5) == Outcome.UNPARSED


def test_score_difference_equal_to_threshold_is_a_tie():
    assert read_judgment(scores=[5.5, 5]).outcome(0.5) == Outcome.TIE


def test_winner_takes_precedence_over_scores():
    assert read_judgment(winner="tie").outcome(0.5) == Outcome.TIE


def test_swapped_row_is_turned():
    judgment = read_judgment(scores=..., winner="model_b", order_ab=["bo", "ada"], lengths=[10, 30])
    assert (judgment.model_a, judgment.outcome(0), judgment.lengths) == ("bo", Outcome.A, (30.0, 10.0))


def test_row_without_order_has_unknown_order():
    assert not read_judgment(order_ab=...).order_known


def test_arena_token_counts_become_lengths():
    judgment = read_judgment(conv_metadata={"sum_assistant_a_tokens": 30, "sum_assistant_b_tokens": 10})
    read_ = read_judgments(json.dumps(PUBLISHED | {"lengths": [30, 10]}), "x").judgments
    assert judgment.lengths == (30.0, 10.0)
    assert votes_by_criterion(read_, "help").features["length"].tolist() == [0.5]


@each_case(
    ("changes", "sentence"),
    [
        ({"scores": ...}, "has neither scores nor winner nor preference"),
        ({"scores": [8]}, "has scores [8], which must be two numbers"),
        ({"scores": [8, "4"]}, "has scores [8, '4'], which must be two numbers"),
        ({"scores": [8, float("nan")]}, "has scores [8, nan], which must be two numbers"),
        ({"scores": [True, 1]}, "has scores [True, 1], which must be two numbers"),
        ({"model_b": "ada", "order_ab": ...}, "compares 'ada' with itself"),
        ({"model_a": ""}, "has no model_a that is a name of at most 200 characters without control characters"),
        ({"model_a": "\x1b[2J"}, "has no model_a that is a name of at most 200 characters without control characters"),
        ({"judge": "x" * 201}, "has a judge of more than 200 characters, or with control characters"),
        ({"order_ab": ["ada", "cy"]}, "has order_ab ['ada', 'cy'], which must hold its two models"),
        (
            {"order_ab": ["bo", "ada"]},
            "has an order_ab that contradicts model_a and model_b, so the order of the scores is ambiguous",
        ),
        (
            {"winner": "a"},
            "has the unknown winner 'a'; known are model_a, model_b, tie, tie (bothbad), unparsed, refused, error",
        ),
    ],
)
def test_invalid_row_is_refused_with_reason(changes, sentence):
    assert read_problem(**changes) == sentence


def test_invalid_rows_are_reported_by_line():
    text = "\n".join([json.dumps(PUBLISHED), "", "{broken", "[1, 2]", "7", json.dumps(PUBLISHED | {"prompt_id": 4})])
    result = read_judgments(text, "votes.jsonl")
    assert len(result.judgments) == 2
    assert [str(problem).split(":")[0] for problem in result.problems] == [
        "votes.jsonl, line 3", "votes.jsonl, line 4", "votes.jsonl, line 5"
    ]  # fmt: skip


def test_too_large_score_is_refused():
    text = json.dumps(PUBLISHED).replace("4.5", "1" + "0" * 400)
    assert "which must be two numbers" in str(read_judgments(text, "x").problems[0])


def test_a_json_list_is_read_entry_by_entry():
    result = read_judgments(json.dumps([ARENA, {}, ARENA | {"question_id": "q2"}, ARENA]), "battles.json")
    assert len(result.judgments) == 2
    assert str(result.problems[0]) == "battles.json, entry 2: has neither scores nor winner nor preference"
    assert str(result.duplicates[0]) == "battles.json, entry 4: is the same as battles.json, entry 1"


def test_rows_without_prompt_get_own_prompts():
    row = json.dumps({key: value for key, value in ARENA.items() if key != "question_id"})
    result = read_judgments(f"{row}\n{row}", "x")
    assert (result.without_prompt, len({judgment.prompt for judgment in result.judgments})) == (2, 2)


def test_row_without_prompt_keeps_prompt_across_files():
    row = {key: value for key, value in ARENA.items() if key != "question_id"}
    early, late = row | {"tstamp": 1}, row | {"tstamp": 2}

    def prompts(*rows, name="x"):
        return [judgment.prompt for judgment in read_judgments("\n".join(map(json.dumps, rows)), name).judgments]

    first = prompts(row, early, row)
    assert len(set(first)) == 3
    assert prompts(row, early, row, late, name="renamed")[:3] == first, "it has gone on"
    assert prompts(row | {"winner": "model_a"}, early, row) == first, "it says something else now"
    assert prompts(late, row)[0] not in first
    named = read_judgments(json.dumps(row | {"question_id": first[0]}), "again")
    assert named.judgments[0].prompt == first[0] and named.without_prompt == 1


WORDS = some.sampled_from(["", " ", "ada", "bo", "model_a", "tie", "\x1b[2J", "\ud800", "²", "x" * 300])
PLAIN = some.none() | some.booleans() | some.integers() | some.floats() | WORDS
ANYTHING = PLAIN | some.lists(PLAIN, max_size=3) | some.dictionaries(WORDS, PLAIN, max_size=2)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.dictionaries(some.sampled_from([*PUBLISHED, *ARENA, "lengths", "conv_metadata"]), ANYTHING, max_size=4))
def test_any_row_is_a_judgment_or_a_problem(changes):
    result = read_judgments(json.dumps(PUBLISHED | changes), "x")
    assert len(result.judgments) + len(result.problems) == 1
    for judgment in result.judgments:
        assert votes_by_criterion([judgment], judgment.criterion).outcome.tolist() == [judgment.outcome(0.5)]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.text())
def test_any_text_is_read_without_an_exception(text):
    assert not read_judgments(text, "x").judgments


def test_unknown_criterion_is_refused_with_choices():
    judgments = read_judgments(json.dumps(PUBLISHED), "x").judgments
    assert list_criteria(judgments) == ("help",)
    with pytest.raises(ValueError, match="the criterion must be one of 'help', not 'harm'"):
        votes_by_criterion(judgments, "harm")
