"""Turn finished calls into verdicts. A failed, unparsed or refused call is stored as such, never as a tie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from judging.model_judge import restore_request
from judging.models import Assignment, Call, Question, Side
from judging.stats.votes import Outcome
from judging.voting import JudgeVerdict, save_judge_verdicts

MISSING = {
    Call.State.FAILED: Outcome.ERROR,
    Call.State.UNPARSED: Outcome.UNPARSED,
    Call.State.REFUSED: Outcome.REFUSED,
}
READ_BATCH_SIZE = 200


def save_verdicts(calls: Sequence[Call]) -> None:
    """Store the results of the calls as verdicts on the comparisons of their questions. All calls are of one judge."""
    by_id = {call.pk: call for call in calls}
    if not by_id:
        return
    questions = Question.objects.filter(call__in=by_id, comparison__isnull=False).order_by("pk")
    verdicts = [_judged_comparison(question, by_id[question.call_id]) for question in questions]
    # If several assignments asked the same, the first is enough.
    by_place = {verdict.identity: verdict for verdict in verdicts}
    if by_place:
        save_judge_verdicts(calls[0].judge, list(by_place.values()))


def outcome_of(call: Call) -> Outcome:
    """Return the outcome of the call by position: A is the response in first position."""
    if call.state in MISSING:
        return MISSING[Call.State(call.state)]
    return Outcome[_parsed_result(call)["outcome"]]


def _judged_comparison(question: Question, call: Call) -> JudgeVerdict:
    scores = _parsed_result(call).get("scores")
    assert question.comparison_id is not None  # noqa: S101  (the queryset excludes None)
    return JudgeVerdict(
        question.comparison_id, question.rubric_id, Side(question.first), outcome_of(call),
        (scores[0], scores[1]) if scores else None, call.pk, question.sample,
    )  # fmt: skip


def _parsed_result(call: Call) -> dict[str, Any]:
    return call.parsed or {}


def transcript(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """Yield a JSON-serializable dict for each question, in the order of their creation."""
    related = ("call", "rubric__criterion", "comparison__a", "comparison__b", "comparison__prompt")
    questions = Question.objects.filter(assignment=assignment).select_related(*related).order_by("pk")
    judge = {"judge": assignment.judge.name, "judge_digest": assignment.judge.digest}
    for question in questions.iterator(READ_BATCH_SIZE):
        yield {**judge, **_about(question), **_call(question)}


def _about(question: Question) -> dict[str, Any]:
    rubric, comparison = question.rubric, question.comparison
    row = {"criterion": rubric.criterion.slug, "rubric_version": rubric.version, "rubric_digest": rubric.digest}
    row |= {"first": question.first, "sample": question.sample, "gold_pair": question.gold_pair_id}
    if comparison is None or comparison.a is None or comparison.b is None:
        return row
    return row | {"model_a": comparison.a.name, "model_b": comparison.b.name, "prompt_id": comparison.prompt_id}


def _call(question: Question) -> dict[str, Any]:
    call = question.call
    return {
        "key": call.key, "sent": restore_request(call.sent).body, "state": call.state, "raw": call.raw,
        "parsed": call.parsed,
        "parser": call.parser, "flags": call.flags, "error": call.error, "answered_by": call.answered_by,
        "finish_reason": call.finish_reason, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out,
        "is_estimated": call.is_estimated, "cost": str(call.cost), "tries": call.tries,
    }  # fmt: skip
