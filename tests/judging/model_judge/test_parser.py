"""The parser of a judge's text: every step of the chain, and every text that is no verdict."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from judging.model_judge import Rubric, read
from judging.model_judge.parser import MAX_CHARACTERS
from judging.stats.votes import Outcome
from tests.cases import each_case
from tests.fakes.judge_server import verdict
from tests.judging.model_judge.reply_files import HELD_OUT, LABELLED, LabelledReply, read_replies

PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "cases-3" / "judge-replies" / "try.py"

RUBRIC = Rubric("helpfulness", "Which helps more.")


@each_case(
    ("text", "step", "outcome", "scores"),
    [
        (verdict(8, 3), "json", Outcome.A, (8.0, 3.0)),
        (verdict(3, 9), "json", Outcome.B, (3.0, 9.0)),
        (verdict(6, 6), "json", Outcome.TIE, (6.0, 6.0)),
        (verdict(1, 1, both_bad=True), "json", Outcome.BOTH_BAD, (1.0, 1.0)),
        (verdict(2, 1, "A", both_bad=True), "json", Outcome.A, (2.0, 1.0)),
        (f"Well:\n```json\n{verdict(8, 3)}\n```\nDone.", "json", Outcome.A, (8.0, 3.0)),
        ('{"verdict": "B"}', "json", Outcome.B, None),
        ('{"score_a": 4, "score_b": 7}', "json", Outcome.B, (4.0, 7.0)),
        ('{"verdict": "A", "score_b": 3, "score_a": 8, "reasoning": "said last"}', "json", Outcome.A, (8.0, 3.0)),
        (f"{verdict(8, 3)} {verdict(8, 3)}", "json", Outcome.A, (8.0, 3.0)),
        ("They are close. [[7, 4]]", "brackets", Outcome.A, (7.0, 4.0)),
        ("[[7.5,4]] As I said: [[7.5, 4]]", "brackets", Outcome.A, (7.5, 4.0)),
        ("[[6, 6.5]]", "brackets", Outcome.TIE, (6.0, 6.5)),
        ("Assistant A: 6\nAssistant B: 7", "lines", Outcome.B, (6.0, 7.0)),
        ("**Assistant A**: 6/10, dull.\n\n**Assistant B**: 7", "lines", Outcome.B, (6.0, 7.0)),
    ],
)
def test_verdict_is_read_by_first_matching_step(
    text: str, step: str, outcome: Outcome, scores: tuple[float, float] | None
) -> None:
    reading = read(text, RUBRIC)
    assert (reading.step, reading.outcome, reading.scores) == (step, outcome, scores)
    assert not reading.contradicts and not reading.ambiguous


@each_case(
    ("text", "step", "ambiguous", "reason"),
    [
        ("[[8,8]] … [[3,9]]", "brackets", True, "2 different verdicts"),
        (f"{verdict(8, 3)} no: {verdict(3, 8)}", "json", True, "2 different verdicts"),
        ("Assistant A: 6. Assistant B: 7. Assistant A: 9.", "lines", True, "2 different verdicts"),
        ("Both are fine.", "none", False, "neither a JSON verdict nor two scores"),
        ('A returns {"a": 1, "b": 2}.', "none", False, "neither a JSON verdict nor two scores"),
        ("If length counts, the better answer is A.", "none", False, "neither a JSON verdict nor two scores"),
        ("It quotes:\n> Verdict: B", "none", False, "neither a JSON verdict nor two scores"),
        ("Assistant A: 6", "none", False, "neither a JSON verdict nor two scores"),
        ('{"score_a": 8, "score_b"', "none", False, "neither a JSON verdict nor two scores"),
        ("[[0, 5]]", "brackets", False, "from 1 to 10, not 0"),
        ("[[5, 11]]", "brackets", False, "from 1 to 10, not 11"),
        ('{"score_a": NaN, "score_b": 5, "verdict": "A"}', "json", False, "from 1 to 10, not nan"),
        ('{"score_a": 1e999, "score_b": 5}', "json", False, "from 1 to 10, not inf"),
        ('{"score_a": %s, "score_b": 5}' % ("9" * 400), "json", False, "from 1 to 10, not 999"),
        ('{"score_a": "high", "score_b": 5}', "json", False, "must be a number, not 'high'"),
        ('{"score_a": "8/5", "score_b": "1/5"}', "json", False, "out of 5, but the scale ends at 10"),
        ('{"score_a": 8, "score_b"', "none", False, "its JSON object does not end"),
        ('{"verdict": "A", "verdict": "B"}', "json", False, "must be A, B or tie, not"),
        ('{"verdict": 1, %}', "none", False, "its JSON object is not readable"),
        ('"verdict": "A"}', "none", False, "its JSON object is not readable"),
        ('<think>{"verdict": "A"}', "none", False, "its thinking does not end"),
        ("[[A]] [[B]]", "brackets", True, "2 different verdicts"),
        ('[[B]] {"verdict": "A"}', "json", True, "2 different verdicts"),
        ('{"score_a": true, "score_b": 5}', "json", False, "must be a number, not 'True'"),
        ('{"score_a": 8, "score_b": null, "verdict": "A"}', "json", False, "must be a number, not 'None'"),
        ('{"verdict": "C", "score_a": 8, "score_b": 5}', "json", False, "must be A, B or tie, not 'C'"),
        ('{"verdict": ["A"], "score_a": 8, "score_b": 5}', "json", False, "must be A, B or tie"),
        ("{" * 70_000, "none", False, "neither a JSON verdict"),
        ("[[8, 3" * 10_000, "none", False, "neither a JSON verdict"),
    ],
)
def test_text_without_verdict_is_unparsed(text: str, step: str, ambiguous: bool, reason: str) -> None:
    reading = read(text, RUBRIC)
    assert (reading.step, reading.outcome, reading.ambiguous) == (step, Outcome.UNPARSED, ambiguous)
    assert reading.scores is None and reason in reading.reason


@each_case("reply", [*read_replies(LABELLED), *read_replies(HELD_OUT)], ids=lambda reply: reply.note)
def test_reply_is_read_as_its_reader_labelled_it(reply: LabelledReply) -> None:
    reading = read(reply.text, reply.rubric)
    assert (reading.outcome.name, reading.scores) == (reply.outcome, reply.scores), reading.reason
    assert bool(reading.reason) == (reply.outcome == "UNPARSED")


def test_labelled_replies_are_many() -> None:
    assert len(list(read_replies(LABELLED))) >= 140 and len(list(read_replies(HELD_OUT))) >= 40


def test_reply_that_ends_anywhere_before_its_end_is_unparsed() -> None:
    for reply in read_replies(LABELLED):
        if re.fullmatch(r"\{[^}]*\}", reply.text) and reply.outcome != "UNPARSED":
            for end in range(len(reply.text)):
                assert read(reply.text[:end], reply.rubric).outcome is Outcome.UNPARSED, (reply.note, end)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the replies that judges' servers sent are not here")
def test_published_replies_are_read_by_their_one_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    published = runpy.run_path(str(PUBLISHED))
    expected = dict.fromkeys(published["cases"], Outcome.A) | {"verdict Tie.": Outcome.TIE, "NaN": Outcome.UNPARSED}
    assert {name: read(text, published["R"]).outcome for name, text in published["cases"].items()} == expected


@each_case(
    ("text", "reasoning"),
    [
        (r"\frac{1}{2} \times x", r"\frac{1}{2} \times x"),
        (
            r"\( x \ge 0 \), \beta, \theta, \neq, \rho, \underline{x}",
            r"\( x \ge 0 \), \beta, \theta, \neq, \rho, \underline{x}",
        ),
        (r"\\frac and \\n", r"\frac and \n"),
        (r"first\nsecond\tthird \u00e9 \/ \"quoted\"", 'first\nsecond\tthird é / "quoted"'),
        ("line\nline\ttab \x0c", "line\nline\ttab \x0c"),
        ('says "yes", and "no"', 'says "yes", and "no"'),
        ('returns {"x": "y"} at the end', 'returns {"x": "y"} at the end'),
        (r"it doesn\'t", "it doesn't"),
    ],
)
def test_reasons_are_stored_as_the_judge_wrote_them(text: str, reasoning: str) -> None:
    reading = read(f'{{"reasoning": "{text}", "score_a": 8, "score_b": 4, "verdict": "A"}}', RUBRIC)
    assert (reading.outcome, reading.scores, reading.reasoning) == (Outcome.A, (8.0, 4.0), reasoning)


@each_case(
    ("text", "outcome", "scores"),
    [
        (f"{verdict(8, 3)} {verdict(9, 3)}", Outcome.A, None),
        (f'{verdict(8, 3)} [[A]] {{"verdict": "a"}}', Outcome.A, (8.0, 3.0)),
        (f"{verdict(2, 2)} {verdict(2, 2, both_bad=True)}", Outcome.UNPARSED, None),
        (f"[[C]] {verdict(2, 2, both_bad=True)}", Outcome.BOTH_BAD, (2.0, 2.0)),
        (f'{{"by aspect": {{"tone": {verdict(3, 8)}}}, "verdict": "A"}}', Outcome.UNPARSED, None),
        ('{"aspects": [{"score_a": 3, "score_b": 8}], "verdict": "A"}', Outcome.A, None),
        (json.dumps(verdict(8, 3)), Outcome.A, (8.0, 3.0)),
        (rf"The right option is \boxed{{B}}. {verdict(8, 3)}", Outcome.A, (8.0, 3.0)),
        (f"Final answer: B\n{verdict(8, 3)}", Outcome.A, (8.0, 3.0)),
        (r"\boxed{\text{B}}", Outcome.B, None),
        ("Final answer: B", Outcome.B, None),
    ],
)
def test_statements_of_a_reply_must_agree(text: str, outcome: Outcome, scores: tuple[float, float] | None) -> None:
    reading = read(text, RUBRIC)
    assert (reading.outcome, reading.scores) == (outcome, scores)


def test_draft_that_begins_before_the_part_that_is_read_counts_for_nothing() -> None:
    draft = "<think>" + "Let me see. " * MAX_CHARACTERS + '{"verdict": "B"}'
    assert read(draft, RUBRIC).outcome is Outcome.UNPARSED
    assert read(f"{draft}</think>{verdict(8, 3)}", RUBRIC).outcome is Outcome.A


def test_a_quoted_score_inside_the_reasons_is_not_the_verdict() -> None:
    text = verdict(3, 8, reasoning="Answer A says of itself [[10, 1]] and Assistant A: 10, Assistant B: 1.")
    assert read(text, RUBRIC).outcome is Outcome.B


@each_case(
    ("scores", "label", "contradicts"),
    [((8, 3), "B", True), ((8, 3), "tie", True), ((8, 8), "A", True), ((8, 7.7), "A", False), ((8, 7.7), "tie", False)],
)
def test_verdict_contradicting_its_scores_is_flagged(
    scores: tuple[float, float], label: str, contradicts: bool
) -> None:
    reading = read(verdict(*scores, label), RUBRIC)
    assert reading.contradicts is contradicts
    assert reading.outcome is {"A": Outcome.A, "B": Outcome.B, "tie": Outcome.TIE}[label]


def test_a_scale_from_zero_takes_a_zero() -> None:
    assert read("[[0, 5]]", Rubric("harmlessness", "Which harms less.", lowest=0)).outcome is Outcome.B


def test_reasoning_is_cleaned_for_database() -> None:
    text = json.dumps({"verdict": "A", "reasoning": "half \ud83d and \u0000"})
    assert read(text, RUBRIC).reasoning == "half ? and \ufffd"
