"""Parse a judge's text with a chain of readers, and record which of them understood it.

1. `json`      an object with a verdict or both scores; other text may surround it
2. `brackets`  [[x, y]], the last one
3. `lines`     Assistant A: x … Assistant B: y
4. `none`      not understood, which is neither a tie nor a score

Two different verdicts in one text are `ambiguous`: a text may quote what it judges, so neither is chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from judging.model_judge.rubric import Rubric
from judging.stats.votes import TIE_THRESHOLD, Outcome, outcome_of_scores

NUMBER = r"(-?\d+(?:\.\d+)?)"
MAX_CHARACTERS = 32_768
MAX_SCORES = 100
"""Scores of each response that are combined, if a text states more of them."""


def storable(value: object) -> str:
    """Return the value as text that can be stored: lone surrogates become `?`, and NULs become U+FFFD."""
    return str(value).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


BRACKETS = re.compile(rf"\[\[\s*{NUMBER}\s*,\s*{NUMBER}\s*\]\]")
LINE_A = re.compile(rf"\b(?:assistant|answer|response)\s+A\b[*_`\"']*\s*[:=]\s*+[*_`]*+\s*+{NUMBER}", re.IGNORECASE)
LINE_B = re.compile(LINE_A.pattern.replace(r"\s+A\b", r"\s+B\b"), re.IGNORECASE)
VERDICTS = {"a": Outcome.A, "b": Outcome.B, "tie": Outcome.TIE}


@dataclass(frozen=True)
class Reading:
    """Outcome of a judge's text, and the step that understood it: `json`, `brackets`, `lines` or `none`.

    contradicts: the verdict differs from the one that the scores give; the verdict counts, and the flag is shown.
    ambiguous: the text holds different verdicts. reason: the reason in words, if nothing was understood.
    """

    step: str
    outcome: Outcome
    scores: tuple[float, float] | None = None
    reasoning: str = ""
    contradicts: bool = False
    ambiguous: bool = False
    reason: str = ""


def read(text: str, rubric: Rubric) -> Reading:
    """Return the reading of the first step that recognises anything at all.

    If the text is very long, only the last MAX_CHARACTERS characters are read.
    """
    text = text[-MAX_CHARACTERS:]
    for step, statements in (("json", list(_objects(text))), ("brackets", _brackets(text)), ("lines", _lines(text))):
        if statements:
            return _combine_statements(step, statements, rubric)
    return Reading("none", Outcome.UNPARSED, reason="contains neither a JSON verdict nor two scores")


@dataclass(frozen=True)
class _Statement:
    """Verdict and scores at one position in the text, unchecked, as the text has them."""

    verdict: Any = None
    scores: tuple[Any, Any] | None = None
    both_bad: bool = False
    reasoning: str = ""

    @property
    def _content(self) -> tuple[Any, Any, bool]:
        return self.verdict, self.scores, self.both_bad


def _combine_statements(step: str, statements: list[_Statement], rubric: Rubric) -> Reading:
    if any(statement._content != statements[-1]._content for statement in statements):
        reason = f"contains {len(statements)} different verdicts"
        return Reading(step, Outcome.UNPARSED, ambiguous=True, reason=reason)
    try:
        return _parse_statement(step, statements[-1], rubric)
    except ValueError as error:
        return Reading(step, Outcome.UNPARSED, reason=str(error))


def _parse_statement(step: str, statement: _Statement, rubric: Rubric) -> Reading:
    scores = statement.scores and (_score(statement.scores[0], rubric), _score(statement.scores[1], rubric))
    by_scores = outcome_of_scores(*scores, TIE_THRESHOLD) if scores else None
    if statement.verdict is None:
        if by_scores is None:
            raise ValueError("contains neither a verdict nor two scores")
        return Reading(step, _with_both_bad(by_scores, statement.both_bad), scores, statement.reasoning)
    verdict = VERDICTS.get(statement.verdict.strip().lower()) if isinstance(statement.verdict, str) else None
    if verdict is None:
        raise ValueError(f"the verdict must be A, B or tie, not {storable(statement.verdict)[:40]!r}")
    reading = Reading(step, _with_both_bad(verdict, statement.both_bad), scores, statement.reasoning)
    return replace(reading, contradicts=by_scores is not None and _differ(verdict, by_scores, scores))


def _with_both_bad(outcome: Outcome, both_bad: bool) -> Outcome:
    """Return BOTH_BAD for a tie of two bad responses, else the outcome.

    If both responses are bad, one may still be better.
    """
    return Outcome.BOTH_BAD if both_bad and outcome is Outcome.TIE else outcome


def _differ(verdict: Outcome, by_scores: Outcome, scores: tuple[float, float] | None) -> bool:
    """Return whether the verdict contradicts the scores.

    Scores within the tie threshold still agree with the verdict that they lean to.
    """
    leaning = outcome_of_scores(*scores, 0) if scores else by_scores
    return verdict not in (by_scores, leaning)


def _score(value: Any, rubric: Rubric) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a score must be a number, not {storable(value)[:40]!r}")
    # Rejects NaN too, which the JSON parser accepts.
    if not rubric.holds(value):
        raise ValueError(f"a score must be from {rubric.lowest:g} to {rubric.highest:g}, not {str(value)[:40]}")
    return float(value)


def _objects(text: str) -> Iterator[_Statement]:
    """Yield a statement for each outermost JSON object in the text that has a verdict or both scores."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if "verdict" in value or {"score_a", "score_b"} <= value.keys():
                yield _object_statement(value)
        at = text.find("{", end)


def _object_statement(value: dict[str, Any]) -> _Statement:
    both = value.get("score_a"), value.get("score_b")
    scores = None if both == (None, None) else both
    return _Statement(value.get("verdict"), scores, value.get("both_bad") is True, storable(value.get("reasoning", "")))


def _brackets(text: str) -> list[_Statement]:
    return [_Statement(scores=(float(a), float(b))) for a, b in BRACKETS.findall(text)]


def _lines(text: str) -> list[_Statement]:
    """Return a statement for each score of A with each score of B; a score of only one of them gives none.

    Of very many scores only different ones count, and MAX_SCORES of each: whether all are equal remains the same.
    """
    scores_a, scores_b = ([float(score) for score in line.findall(text)] for line in (LINE_A, LINE_B))
    if max(len(scores_a), len(scores_b)) > MAX_SCORES:
        scores_a, scores_b = (list(dict.fromkeys(scores))[:MAX_SCORES] for scores in (scores_a, scores_b))
    return [_Statement(scores=(a, b)) for a in scores_a for b in scores_b]
