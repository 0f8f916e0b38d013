"""All that was sent to a judge and all that it said, question by question. No key is among it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judging.model_judge import kept
from judging.models import Assignment, Question

READ_AT_ONCE = 200


def transcript(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """A JSON-able object for each question, in the order in which they were made."""
    related = ("call", "rubric__criterion", "comparison__a", "comparison__b", "comparison__prompt")
    asked = Question.objects.filter(assignment=assignment).select_related(*related).order_by("pk")
    judge = {"judge": assignment.judge.name, "judge_digest": assignment.judge.digest}
    for question in asked.iterator(READ_AT_ONCE):
        yield {**judge, **_about(question), **_call(question)}


def _about(question: Question) -> dict[str, Any]:
    rubric, comparison = question.rubric, question.comparison
    said = {"criterion": rubric.criterion.slug, "rubric_version": rubric.version, "rubric_digest": rubric.digest}
    said |= {"first": question.first, "sample": question.sample, "gold_pair": question.gold_pair_id}
    if comparison is None or comparison.a is None or comparison.b is None:
        return said
    return said | {"model_a": comparison.a.name, "model_b": comparison.b.name, "prompt_id": comparison.prompt_id}


def _call(question: Question) -> dict[str, Any]:
    call = question.call
    return {
        "key": call.key, "sent": kept(call.sent).body, "state": call.state, "raw": call.raw, "parsed": call.parsed,
        "parser": call.parser, "flags": call.flags, "error": call.error, "answered_by": call.answered_by,
        "finish_reason": call.finish_reason, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out,
        "is_estimated": call.is_estimated, "cost": str(call.cost), "tries": call.tries,
    }  # fmt: skip
