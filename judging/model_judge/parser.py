"""Parse a judge's text with a chain of readers, and record which of them understood it.

1. `json`      an object with a verdict or both scores; other text may surround it
2. `brackets`  [[A]], [[A>B]], [[x, y]], [RESULT] A, <verdict>A</verdict>
3. `lines`     Verdict: A; a text that is only a verdict; \\boxed{A}; Assistant A: x … Assistant B: y
4. `none`      not understood, which is neither a tie nor a score

Drafts are not read. Two different verdicts in one text are `ambiguous`: a text may quote what it judges, so neither is
chosen. A verdict that is repeated counts once. An object that the judge did not finish is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from judging.model_judge.drafts import ReplyParts, split_reply
from judging.model_judge.rubric import Rubric
from judging.model_judge.statements import (
    MEMBER,
    Statement,
    bracket_statements,
    final_answers,
    holds_members,
    is_statement_key,
    line_statements,
    object_statements,
    score_statements,
)
from judging.model_judge.verdict_words import parse_explained_verdict, parse_score, storable
from judging.stats.votes import TIE_THRESHOLD, Outcome, outcome_of_scores

__all__ = ["MAX_CHARACTERS", "Reading", "read", "storable", "without_drafts"]

MAX_CHARACTERS = 32_768
UNREADABLE = "its JSON object is not readable"
NOTHING = "contains neither a JSON verdict nor two scores"


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

    Verdicts of the other steps must not differ from it. If the text is very long, only the last MAX_CHARACTERS
    characters are read.
    """
    parts = split_reply(_decode_text(text), MAX_CHARACTERS)
    if reason := _find_fault(parts):
        return Reading("none", Outcome.UNPARSED, reason=f"{NOTHING}: {reason}")
    steps = {
        "json": [statement for value in parts.objects for statement in object_statements(value)],
        "brackets": list(bracket_statements(parts.text)),
        "lines": list(line_statements(parts.text)),
    }
    step = next((name for name, statements in steps.items() if statements), "lines")
    statements = [statement for own in steps.values() for statement in own] or final_answers(parts.text)
    if step == "lines":
        scores = score_statements(parts.text)
        statements = _with_scores(statements, scores) if statements else scores
    if not statements:
        return Reading("none", Outcome.UNPARSED, reason=NOTHING)
    return _combine_statements(step, statements, rubric)


def _decode_text(text: str) -> str:
    """Return the text of a reply that is one string of JSON; other replies unchanged."""
    if not (text.lstrip().startswith('"') and text.rstrip().endswith('"')):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text


def without_drafts(text: str) -> str:
    """Return the text around the JSON objects of a reply, without its drafts."""
    return split_reply(text, MAX_CHARACTERS).text


def _find_fault(parts: ReplyParts) -> str:
    """Return why the reply cannot be read, or empty text."""
    if parts.is_draft:
        return "its thinking does not end"
    for fragment in parts.fragments:
        if any(map(is_statement_key, fragment.keys)):
            return "its JSON object does not end" if fragment.is_cut else UNREADABLE
    # Members outside an object, or within a string that should have ended before them: an object with a fault.
    is_swallowed = any(map(holds_members, parts.objects)) or MEMBER.search(parts.text)
    return UNREADABLE if is_swallowed else ""


def _with_scores(statements: list[Statement], scores: list[Statement]) -> list[Statement]:
    """Return the verdicts of lines with the scores of lines, if these are one pair."""
    return [replace(own, scores=scores[0].scores) for own in statements] if len(scores) == 1 else statements


def _combine_statements(step: str, statements: Sequence[Statement], rubric: Rubric) -> Reading:
    """Return the reading of statements that agree. Scores of equal verdicts are stored if they are equal, too."""
    distinct = list({statement.content: statement for statement in statements}.values())
    try:
        readings = [_parse_statement(step, statement, rubric) for statement in distinct]
    except ValueError as error:
        if len(distinct) > 1:
            return _ambiguous(step, len(distinct))
        return Reading(step, Outcome.UNPARSED, reason=str(error))
    if len({_with_any_badness(reading.outcome) for reading in readings}) > 1:
        return _ambiguous(step, len(distinct))
    stated = {own.both_bad for own in distinct} - {None}
    if len(stated) > 1 and readings[0].outcome not in (Outcome.A, Outcome.B):
        return _ambiguous(step, len(distinct))
    pairs = {reading.scores for reading in readings} - {None}
    return replace(
        next((reading for reading in readings if reading.outcome is Outcome.BOTH_BAD), readings[0]),
        scores=pairs.pop() if len(pairs) == 1 else None,
        contradicts=any(reading.contradicts for reading in readings),
    )


def _ambiguous(step: str, count: int) -> Reading:
    return Reading(step, Outcome.UNPARSED, ambiguous=True, reason=f"contains {count} different verdicts")


def _with_any_badness(outcome: Outcome) -> Outcome:
    return Outcome.TIE if outcome is Outcome.BOTH_BAD else outcome


def _parse_statement(step: str, statement: Statement, rubric: Rubric) -> Reading:
    scores = statement.scores and (parse_score(statement.scores[0], rubric), parse_score(statement.scores[1], rubric))
    by_scores = outcome_of_scores(*scores, TIE_THRESHOLD) if scores else None
    both_bad = statement.both_bad is True
    if statement.verdict is None:
        if by_scores is None:
            raise ValueError("contains neither a verdict nor two scores")
        return Reading(step, _with_both_bad(by_scores, both_bad), scores, statement.reasoning)
    verdict = _verdict(statement.verdict)
    if verdict is None:
        raise ValueError(f"the verdict must be A, B or tie, not {storable(statement.verdict)[:40]!r}")
    reading = Reading(step, _with_both_bad(verdict, both_bad), scores, statement.reasoning)
    return replace(reading, contradicts=by_scores is not None and _differ(verdict, by_scores, scores))


def _verdict(value: object) -> Outcome | None:
    if isinstance(value, Outcome):
        return value
    return parse_explained_verdict(value) if isinstance(value, str) else None


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
    return _with_any_badness(verdict) not in (by_scores, leaning)
