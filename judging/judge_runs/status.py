"""How an assignment stands: counts of every end, spend and cap; and, before a start, what it is likely to cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Length

from judging.judge_runs.questions import comparisons, twice
from judging.judges import price_of, rubric_of, sampling_of
from judging.model_judge import Cost, Pair, request
from judging.models import Assignment, Call, Comparison, Judge, Question, Rubric, Tournament

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


@dataclass(frozen=True)
class AssignmentStatus:
    """Questions, by how their calls stand. left: neither ended nor under way. missing: the share of ends that are no
    verdicts. contradicting: verdicts against their own scores. estimated: whose cost the server did not count."""

    planned: int
    done: int
    refused: int
    failed: int
    unparsed: int
    under_way: int
    contradicting: int
    estimated: int

    @property
    def ended(self) -> int:
        return self.done + self.refused + self.failed + self.unparsed

    @property
    def left(self) -> int:
        return max(self.planned - self.ended - self.under_way, 0)

    @property
    def missing(self) -> float:
        return (self.ended - self.done) / self.ended if self.ended else 0.0


@dataclass(frozen=True)
class Estimate:
    """Before a start: calls, what they are likely to cost, and what they cost at the very most."""

    calls: int
    likely: Cost
    at_most: Decimal


def standing(assignment: Assignment) -> AssignmentStatus:
    """As the database has it now."""
    return standings([assignment])[0]


def standings(assignments: Sequence[Assignment]) -> list[AssignmentStatus]:
    """Of each, in their order; one question, however many they are."""
    asked = Question.objects.filter(assignment__in=assignments).values("assignment").order_by("assignment")
    counted = {pk: counts for pk, *counts in asked.annotate(**COUNTS).values_list("assignment", *COUNTS)}
    none = [0] * len(COUNTS)
    return [
        AssignmentStatus(one.planned, **dict(zip(COUNTS, counted.get(one.pk, none), strict=True)))
        for one in assignments
    ]


def estimate(
    judge: Judge,
    tournament: Tournament,
    rubrics: list[Rubric],
    *,
    both_orders: bool = True,
    samples: int = 1,
    asks_twice: bool = False,
) -> Estimate:
    """What judging a tournament would cost, by the lengths of its answers."""
    found = comparisons(Assignment(tournament=tournament))
    orders, price = 2 if both_orders else 1, price_of(judge)
    parts = [_size(found)] * samples + ([_size(twice(found))] if asks_twice else [])
    asked, characters = (sum(part) for part in zip(*parts, strict=True))
    empty = [request(judge.model, rubric_of(rubric), Pair("", "", ""), sampling_of(judge)) for rubric in rubrics]
    calls = asked * len(rubrics) * orders
    read = orders * (len(rubrics) * characters + asked * sum(one.characters for one in empty))
    most = calls * price.of(0, judge.max_tokens) + orders * sum(
        (asked * price.of(one.most_tokens_in, 0) + price.of(4 * characters, 0) for one in empty), Decimal(0)
    )
    return Estimate(calls, price.likely(calls, read), most)


def _size(found: QuerySet[Comparison]) -> tuple[int, int]:
    """How many comparisons they are, and how many characters their prompts and answers have."""
    texts = ("prompt__prompt__text", "response_a__text", "response_b__text")
    totals = found.aggregate(n=Count("pk"), **{f"text_{k}": Sum(Length(name)) for k, name in enumerate(texts)})
    return totals.pop("n"), sum(length or 0 for length in totals.values())
