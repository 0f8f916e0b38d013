"""Files of judgments in both formats are read; what does not fit is named with its line, and the rest is kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from judging.stats.votes import Outcome, criteria, read, votes_of

PUBLISHED = {
    "model_a": "ada",
    "model_b": "bo",
    "dimension": "help",
    "prompt_id": 3,
    "scores": [8, 4.5],
    "order_ab": ["ada", "bo"],
}
ARENA = {"model_a": "ada", "model_b": "bo", "winner": "tie (bothbad)", "judge": "arena_user_7", "question_id": "q1"}


def one(**changes):
    """The judgment of a published row with changes; a key of ... is left out."""
    row = {key: value for key, value in (PUBLISHED | changes).items() if value is not ...}
    found = read(json.dumps(row), "x")
    assert not found.problems, found.problems
    return found.judgments[0]


def why(**changes) -> str:
    row = {key: value for key, value in (PUBLISHED | changes).items() if value is not ...}
    found = read(json.dumps(row), "x")
    assert not found.judgments
    return str(found.problems[0]).removeprefix("x, line 1: ")


def test_a_published_row_says_its_scores_and_who_stood_first():
    made = one()
    assert (made.model_a, made.criterion, made.prompt, made.scores) == ("ada", "help", "3", (8.0, 4.5))
    assert (made.outcome(0.5), made.outcome(3.5), made.order_known) == (Outcome.A, Outcome.TIE, True)


def test_an_arena_row_says_its_winner_its_voter_and_that_a_stood_on_the_left():
    (made,) = read(json.dumps(ARENA), "x").judgments
    assert (made.outcome(0.5), made.annotator, made.prompt) == (Outcome.BOTH_BAD, "arena_user_7", "q1")
    assert made.order_known


def test_scores_that_are_null_are_an_outcome_of_their_own():
    assert one(scores=None).outcome(0.5) == Outcome.UNPARSED


def test_a_threshold_is_met_by_scores_that_differ_by_just_as_much():
    assert one(scores=[5.5, 5]).outcome(0.5) == Outcome.TIE


def test_a_winner_goes_before_scores():
    assert one(winner="tie").outcome(0.5) == Outcome.TIE


def test_a_vote_shown_the_other_way_round_is_turned():
    made = one(scores=..., winner="model_b", order_ab=["bo", "ada"], lengths=[10, 30])
    assert (made.model_a, made.outcome(0), made.lengths) == ("bo", Outcome.A, (30.0, 10.0))


def test_scores_without_an_order_do_not_say_who_stood_first():
    assert not one(order_ab=...).order_known


def test_tokens_of_an_arena_are_lengths():
    made = one(conv_metadata={"sum_assistant_a_tokens": 30, "sum_assistant_b_tokens": 10})
    read_ = read(json.dumps(PUBLISHED | {"lengths": [30, 10]}), "x").judgments
    assert made.lengths == (30.0, 10.0)
    assert votes_of(read_, "help").features["length"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scores": ...}, "has neither scores nor winner"),
        ({"scores": [8]}, "has scores [8], which are not two numbers"),
        ({"scores": [8, "4"]}, "has scores [8, '4'], which are not two numbers"),
        ({"scores": [8, float("nan")]}, "has scores [8, nan], which are not two numbers"),
        ({"scores": [True, 1]}, "has scores [True, 1], which are not two numbers"),
        ({"model_b": "ada", "order_ab": ...}, "compares 'ada' with itself"),
        ({"model_a": ""}, "has no model_a that is a name of at most 200 characters without control characters"),
        ({"model_a": "\x1b[2J"}, "has no model_a that is a name of at most 200 characters without control characters"),
        ({"judge": "x" * 201}, "has a judge of more than 200 characters, or with control characters"),
        ({"order_ab": ["ada", "cy"]}, "has order_ab ['ada', 'cy'], which is not its two models"),
        (
            {"order_ab": ["bo", "ada"]},
            "has order_ab against model_a and model_b, which leaves open whose score is the first",
        ),
        (
            {"winner": "a"},
            "has winner 'a'; it is one of model_a, model_b, tie, tie (bothbad), unparsed, refused, error",
        ),
    ],
)
def test_a_row_that_does_not_fit_is_told_why(changes, sentence):
    assert why(**changes) == sentence


def test_problems_name_their_lines_and_the_other_rows_are_kept():
    text = "\n".join([json.dumps(PUBLISHED), "", "{broken", "[1, 2]", "7", json.dumps(PUBLISHED | {"prompt_id": 4})])
    found = read(text, "votes.jsonl")
    assert len(found.judgments) == 2
    assert [str(problem).split(":")[0] for problem in found.problems] == [
        "votes.jsonl, line 3", "votes.jsonl, line 4", "votes.jsonl, line 5"
    ]  # fmt: skip


def test_numbers_too_large_for_any_score_are_told():
    text = json.dumps(PUBLISHED).replace("4.5", "1" + "0" * 400)
    assert "which are not two numbers" in str(read(text, "x").problems[0])


def test_a_json_list_is_read_entry_by_entry():
    found = read(json.dumps([ARENA, {}, ARENA | {"question_id": "q2"}, ARENA]), "battles.json")
    assert len(found.judgments) == 2
    assert str(found.problems[0]) == "battles.json, entry 2: has neither scores nor winner"
    assert str(found.duplicates[0]) == "battles.json, entry 4: is the same as battles.json, entry 1"


def test_who_names_no_prompt_is_counted_and_stands_alone():
    row = json.dumps({key: value for key, value in ARENA.items() if key != "question_id"})
    found = read(f"{row}\n{row}", "x")
    assert (found.without_prompt, len({made.prompt for made in found.judgments})) == (2, 2)


def test_who_names_no_prompt_is_known_again_by_what_was_judged_under_whatever_name():
    row = {key: value for key, value in ARENA.items() if key != "question_id"}
    early, late = row | {"tstamp": 1}, row | {"tstamp": 2}

    def prompts(*rows, name="x"):
        return [made.prompt for made in read("\n".join(map(json.dumps, rows)), name).judgments]

    first = prompts(row, early, row)
    assert len(set(first)) == 3
    assert prompts(row, early, row, late, name="renamed")[:3] == first, "it has gone on"
    assert prompts(row | {"winner": "model_a"}, early, row) == first, "it says something else now"
    assert prompts(late, row)[0] not in first
    named = read(json.dumps(row | {"question_id": first[0]}), "again")
    assert named.judgments[0].prompt == first[0] and named.without_prompt == 1


WORDS = some.sampled_from(["", " ", "ada", "bo", "model_a", "tie", "\x1b[2J", "\ud800", "²", "x" * 300])
PLAIN = some.none() | some.booleans() | some.integers() | some.floats() | WORDS
ANYTHING = PLAIN | some.lists(PLAIN, max_size=3) | some.dictionaries(WORDS, PLAIN, max_size=2)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.dictionaries(some.sampled_from([*PUBLISHED, *ARENA, "lengths", "conv_metadata"]), ANYTHING, max_size=4))
def test_whatever_a_row_says_it_is_a_judgment_or_a_problem(changes):
    found = read(json.dumps(PUBLISHED | changes), "x")
    assert len(found.judgments) + len(found.problems) == 1
    for made in found.judgments:
        assert votes_of([made], made.criterion).outcome.tolist() == [made.outcome(0.5)]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.text())
def test_any_text_is_read_without_an_exception(text):
    assert not read(text, "x").judgments


def test_a_criterion_nobody_judged_is_answered_with_those_there_are():
    found = read(json.dumps(PUBLISHED), "x").judgments
    assert criteria(found) == ("help",)
    with pytest.raises(ValueError, match="no judgment is of 'harm'; the criteria are 'help'"):
        votes_of(found, "harm")
