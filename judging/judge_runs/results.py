"""Calls that have ended -> verdicts. What is no verdict is kept as what it is, never as a tie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from judging.models import Call, Question, Side
from judging.stats.votes import Outcome
from judging.voting import Judged, of_judge

MISSING = {
    Call.State.FAILED: Outcome.ERROR,
    Call.State.UNPARSED: Outcome.UNPARSED,
    Call.State.REFUSED: Outcome.REFUSED,
}


def tell(calls: Sequence[Call]) -> None:
    """Keeps what the calls say of every comparison that asked for it. Calls are of one judge."""
    by_id = {call.pk: call for call in calls}
    if not by_id:
        return
    asked = Question.objects.filter(call__in=by_id, comparison__isnull=False).order_by("pk")
    said = [_judged(question, by_id[question.call_id]) for question in asked]
    # Of several assignments that asked the same, the first is enough.
    places = {one.place: one for one in said}
    if places:
        of_judge(calls[0].judge, list(places.values()))


def outcome_of(call: Call) -> Outcome:
    """What came out of it, as the answers stood: A is who stood first."""
    if call.state in MISSING:
        return MISSING[Call.State(call.state)]
    return Outcome[_parsed(call)["outcome"]]


def _judged(question: Question, call: Call) -> Judged:
    scores = _parsed(call).get("scores")
    assert question.comparison_id is not None  # noqa: S101  (as it was asked for)
    return Judged(
        question.comparison_id, question.rubric_id, Side(question.first), outcome_of(call),
        (scores[0], scores[1]) if scores else None, call.pk, question.sample,
    )  # fmt: skip


def _parsed(call: Call) -> dict[str, Any]:
    return call.parsed or {}
