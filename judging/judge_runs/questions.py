"""Create the questions of an assignment: one for each comparison, rubric, order and sample, each only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from judging.judge_runs.results import tell
from judging.judges import rubric_of, sampling_of
from judging.model_judge import Pair, Request, request
from judging.models import Assignment, Call, Comparison, GoldPair, Question, Rubric, Side

FILLED_AT_ONCE = 100
"""Comparisons per batch: some hundreds of questions, so that judging starts soon and a pause takes effect quickly."""
TWICE_EVERY = 20
"""If a judge repeats questions, it repeats every 20th comparison: 5 % show whether its verdicts are consistent."""
ENDS = (Call.State.DONE, Call.State.FAILED, Call.State.UNPARSED, Call.State.REFUSED)


@dataclass(frozen=True)
class _NewQuestion:
    """Question that is not stored yet, with the request to send."""

    about: Comparison | GoldPair
    rubric: Rubric
    first: Side
    sample: int
    key: str
    request: Request


def fill(assignment: Assignment, at_most: int = FILLED_AT_ONCE) -> int:
    """Create the questions of the next comparisons, and their missing calls. Return the number of comparisons."""
    found: list[Comparison | GoldPair] = list(_missing(assignment, at_most))
    asked = list(_asked(assignment, found))
    with transaction.atomic():
        calls = _calls(assignment, asked)
        Question.objects.bulk_create(
            [_question(assignment, one, calls[one.key]) for one in asked], ignore_conflicts=True
        )
        # What was asked before is not asked again: its answer is taken over.
        tell([call for call in calls.values() if call.state in ENDS])
    return len(found)


def is_filled(assignment: Assignment) -> bool:
    """Return whether every comparison has its questions."""
    return not _missing(assignment, 1).exists()


def planned(assignment: Assignment) -> int:
    """Return the number of all questions of the assignment, whether they exist yet or not."""
    orders, rubrics = 2 if assignment.both_orders else 1, list(assignment.rubrics.select_related("criterion"))
    if assignment.gold_set is None:
        found = comparisons(assignment)
        again = twice(found).count() if assignment.asks_twice else 0
        return (found.count() * assignment.samples + again) * len(rubrics) * orders
    known = [assignment.gold_set.pairs.filter(expected__has_key=row.criterion.slug).count() for row in rubrics]
    return sum(known) * orders * assignment.samples


def comparisons(assignment: Assignment) -> QuerySet[Comparison]:
    """Return the tournament's comparisons of contestants with two stored responses that differ."""
    return Comparison.objects.to_judge().filter(tournament=assignment.tournament_id)


def twice(found: QuerySet[Comparison]) -> QuerySet[Comparison]:
    """Return the comparisons that are repeated: every TWICE_EVERY-th in the tournament's seeded order of pairs."""
    return found.annotate(turn=F("place") % TWICE_EVERY).filter(turn=0)


def _missing(assignment: Assignment, at_most: int) -> QuerySet[Comparison] | QuerySet[GoldPair]:
    if assignment.gold_set is not None:
        slugs = list(assignment.rubrics.values_list("criterion__slug", flat=True))
        made = Question.objects.filter(assignment=assignment, gold_pair=OuterRef("pk"))
        return assignment.gold_set.pairs.filter(~Exists(made), expected__has_any_keys=slugs).order_by("place")[:at_most]
    made = Question.objects.filter(assignment=assignment, comparison=OuterRef("pk"))
    related = ("prompt__prompt", "response_a", "response_b", "gold_pair")
    return comparisons(assignment).filter(~Exists(made)).select_related(*related).order_by("place")[:at_most]


def _asked(assignment: Assignment, found: Sequence[Comparison | GoldPair]) -> Iterator[_NewQuestion]:
    judge, sampling = assignment.judge, sampling_of(assignment.judge)
    rubrics = list(assignment.rubrics.select_related("criterion").order_by("pk"))
    for about in found:
        texts = _texts(about)
        for rubric in rubrics:
            if texts is None or (isinstance(about, GoldPair) and rubric.criterion.slug not in about.expected):
                continue
            for first in _orders(assignment, about):
                pair = Pair(*texts) if first is Side.A else Pair(*texts).swapped()
                sent = request(judge.model, rubric_of(rubric), pair, sampling)
                for sample in range(_times(assignment, about)):
                    yield _NewQuestion(about, rubric, first, sample, sent.key(sample, f"judge {judge.pk}"), sent)


def _times(assignment: Assignment, about: Comparison | GoldPair) -> int:
    again = assignment.asks_twice and isinstance(about, Comparison) and about.place % TWICE_EVERY == 0
    return assignment.samples + again


def _texts(about: Comparison | GoldPair) -> tuple[str, str, str] | None:
    return (about.prompt, about.text_a, about.text_b) if isinstance(about, GoldPair) else about.texts


def _orders(assignment: Assignment, about: Comparison | GoldPair) -> tuple[Side, ...]:
    if assignment.both_orders:
        return Side.A, Side.B
    if isinstance(about, GoldPair):
        return (Side.A,) if about.place % 2 == 0 else (Side.B,)
    return (Side(about.first),)


def _calls(assignment: Assignment, asked: Sequence[_NewQuestion]) -> dict[str, Call]:
    made = [
        Call(judge=assignment.judge, rubric=one.rubric, key=one.key, sample=one.sample, sent=one.request.body)
        for one in {one.key: one for one in asked}.values()
    ]
    Call.objects.bulk_create(made, ignore_conflicts=True)
    return {call.key: call for call in Call.objects.filter(key__in=[call.key for call in made])}


def _question(assignment: Assignment, one: _NewQuestion, call: Call) -> Question:
    about = {"gold_pair": one.about} if isinstance(one.about, GoldPair) else {"comparison": one.about}
    return Question(
        assignment=assignment, rubric=one.rubric, first=one.first.value, sample=one.sample, call=call, **about
    )  # fmt: skip
