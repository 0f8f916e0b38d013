"""Count an assignment's questions by outcome, and estimate the cost of an assignment before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, F, Q, QuerySet, Sum, Window
from django.db.models.functions import Length, RowNumber

from judging.judge_runs.questions import comparisons, repeated_comparisons
from judging.judges import price_of, rubric_of, sampling_of
from judging.model_judge import Cost, Pair, request
from judging.models import Assignment, Call, Comparison, Question, Rubric

STATE = Call.State
ENDS = {
    "done": STATE.DONE,
    "refused": STATE.REFUSED,
    "failed": STATE.FAILED,
    "unparsed": STATE.UNPARSED,
    "under_way": STATE.LEASED,
}
COUNTS = {
    **{name: Count("pk", filter=Q(call__state=value)) for name, value in ENDS.items()},
    "contradicting": Count("pk", filter=Q(call__flags__contains=["contradicts"])),
    "estimated": Count("pk", filter=Q(call__is_estimated=True)),
}
MISSING = ("refused", "failed", "unparsed")
MAX_REASONS = 5
"""Reasons for missing verdicts that are listed, the most frequent ones; the transcript has all."""


@dataclass(frozen=True)
class MissingReason:
    """A reason why questions have no verdict: the state of their calls (refused, failed or unparsed), the reason in
    words, and their number."""

    state: str
    reason: str
    count: int


@dataclass(frozen=True)
class AssignmentStatus:
    """Counts of an assignment's questions by the state of their calls.

    left: questions that neither ended nor are under way. missing: the share of ended questions that have no verdict.
    contradicting: verdicts that contradict their own scores. estimated: calls with an estimated cost, because the
    server did not count tokens. missing_reasons: the most frequent reasons for missing verdicts, at most MAX_REASONS.
    """

    planned: int
    done: int
    refused: int
    failed: int
    unparsed: int
    under_way: int
    contradicting: int
    estimated: int
    missing_reasons: tuple[MissingReason, ...] = ()

    @property
    def ended(self) -> int:
        return self.done + self.refused + self.failed + self.unparsed

    @property
    def left(self) -> int:
        return max(self.planned - self.ended - self.under_way, 0)

    @property
    def missing(self) -> float:
        return (self.ended - self.done) / self.ended if self.ended else 0.0

    @property
    def other_missing(self) -> int:
        """Return the number of missing verdicts whose reasons are not among `missing_reasons`."""
        return self.ended - self.done - sum(row.count for row in self.missing_reasons)


@dataclass(frozen=True)
class Estimate:
    """Estimate before a start: the number of calls, their likely cost, and the highest possible cost."""

    calls: int
    likely: Cost
    at_most: Decimal


def get_status(assignment: Assignment) -> AssignmentStatus:
    """Return the assignment's present status, read from the database."""
    return get_statuses([assignment])[0]


def get_statuses(assignments: Sequence[Assignment]) -> list[AssignmentStatus]:
    """Return the status of each assignment, in their order, with two queries for any number of them."""
    questions = Question.objects.filter(assignment__in=assignments).values("assignment").order_by("assignment")
    counted = {pk: counts for pk, *counts in questions.annotate(**COUNTS).values_list("assignment", *COUNTS)}
    none, reasons = [0] * len(COUNTS), _missing_reasons(assignments)
    return [
        AssignmentStatus(
            assignment.planned,
            **dict(zip(COUNTS, counted.get(assignment.pk, none), strict=True)),
            missing_reasons=tuple(reasons.get(assignment.pk, ())),
        )
        for assignment in assignments
    ]


def _missing_reasons(assignments: Sequence[Assignment]) -> dict[int, list[MissingReason]]:
    """Return assignment -> its most frequent reasons for missing verdicts, the most frequent first."""
    questions = Question.objects.filter(assignment__in=assignments, call__state__in=MISSING)
    counted = questions.values("assignment", "call__state", "call__error").annotate(count=Count("pk"))
    by_count = [F("count").desc(), F("call__state").asc(), F("call__error").asc()]
    ranked = counted.annotate(rank=Window(RowNumber(), partition_by=F("assignment"), order_by=by_count))
    reasons: dict[int, list[MissingReason]] = {}
    for row in ranked.filter(rank__lte=MAX_REASONS).order_by("assignment", "rank"):
        reason = MissingReason(row["call__state"], row["call__error"], row["count"])
        reasons.setdefault(row["assignment"], []).append(reason)
    return reasons


def estimate(assignment: Assignment, rubrics: list[Rubric]) -> Estimate:
    """Estimate the cost of an unsaved assignment on a tournament from the lengths of its prompts and responses."""
    pairs, judge = comparisons(assignment), assignment.judge
    orders, price = 2 if assignment.both_orders else 1, price_of(judge)
    parts = [_size(pairs)] * assignment.samples
    parts += [_size(repeated_comparisons(pairs))] if assignment.asks_twice else []
    comparison_count, characters = (sum(part) for part in zip(*parts, strict=True))
    empty = [request(judge.model, rubric_of(rubric), Pair("", "", ""), sampling_of(judge)) for rubric in rubrics]
    calls = comparison_count * len(rubrics) * orders
    read = orders * (
        len(rubrics) * characters + comparison_count * sum(empty_request.characters for empty_request in empty)
    )
    max_cost = calls * price.amount(0, judge.max_tokens) + orders * sum(
        (
            comparison_count * price.amount(empty_request.max_tokens_in, 0) + price.amount(4 * characters, 0)
            for empty_request in empty
        ),
        Decimal(0),
    )
    return Estimate(calls, price.likely_cost(calls, read), max_cost)


def _size(queryset: QuerySet[Comparison]) -> tuple[int, int]:
    """Return the number of comparisons, and the number of characters in their prompts and responses."""
    texts = ("prompt__prompt__text", "response_a__text", "response_b__text")
    totals = queryset.aggregate(n=Count("pk"), **{f"text_{k}": Sum(Length(name)) for k, name in enumerate(texts)})
    return totals.pop("n"), sum(length or 0 for length in totals.values())
