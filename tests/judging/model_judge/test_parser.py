"""The parser of a judge's text: every step of the chain, and every text that is no verdict."""

from __future__ import annotations

import json

from judging.model_judge import Rubric, read
from judging.stats.votes import Outcome
from tests.cases import each_case
from tests.fakes.judge_server import verdict

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
        ("Assistant A: 6", "none", False, "neither a JSON verdict nor two scores"),
        ('{"score_a": 8, "score_b"', "none", False, "neither a JSON verdict nor two scores"),
        ("[[0, 5]]", "brackets", False, "from 1 to 10, not 0"),
        ("[[5, 11]]", "brackets", False, "from 1 to 10, not 11"),
        ('{"score_a": NaN, "score_b": 5, "verdict": "A"}', "json", False, "from 1 to 10, not nan"),
        ('{"score_a": 1e999, "score_b": 5}', "json", False, "from 1 to 10, not inf"),
        ('{"score_a": %s, "score_b": 5}' % ("9" * 400), "json", False, "from 1 to 10, not 999"),
        ('{"score_a": "8", "score_b": 5}', "json", False, "must be a number, not '8'"),
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
