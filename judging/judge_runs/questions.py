"""Create the questions of an assignment: one for each comparison, rubric, order and sample, each only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from judging.judge_runs.results import save_verdicts
from judging.judges import rubric_of, sampling_of
from judging.model_judge import Pair, Request, request
from judging.models import Assignment, Call, Comparison, GoldPair, Question, Rubric, Side

FILL_BATCH_SIZE = 100
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


def fill(assignment: Assignment, limit: int = FILL_BATCH_SIZE) -> int:
    """Create the questions of the next comparisons, and their missing calls. Return the number of comparisons."""
    subjects: list[Comparison | GoldPair] = list(_missing_subjects(assignment, limit))
    new_questions = list(_new_questions(assignment, subjects))
    with transaction.atomic():
        calls = _calls(assignment, new_questions)
        Question.objects.bulk_create(
            [_question(assignment, question, calls[question.key]) for question in new_questions], ignore_conflicts=True
        )
        # Questions that were asked before are not asked again: their verdicts are copied.
        save_verdicts([call for call in calls.values() if call.state in ENDS])
    return len(subjects)


def is_filled(assignment: Assignment) -> bool:
    """Return whether every comparison has its questions."""
    return not _missing_subjects(assignment, 1).exists()


def count_planned(assignment: Assignment) -> int:
    """Return the number of all questions of the assignment, whether they exist yet or not."""
    orders, rubrics = 2 if assignment.both_orders else 1, list(assignment.rubrics.select_related("criterion"))
    if assignment.gold_set is None:
        pairs = comparisons(assignment)
        again = repeated_comparisons(pairs).count() if assignment.asks_twice else 0
        return (pairs.count() * assignment.samples + again) * len(rubrics) * orders
    counts = [assignment.gold_set.pairs.filter(expected__has_key=row.criterion.slug).count() for row in rubrics]
    return sum(counts) * orders * assignment.samples


def comparisons(assignment: Assignment) -> QuerySet[Comparison]:
    """Return the tournament's comparisons of contestants with two stored responses that differ."""
    return Comparison.objects.to_judge().filter(tournament=assignment.tournament_id)


def repeated_comparisons(queryset: QuerySet[Comparison]) -> QuerySet[Comparison]:
    """Return the comparisons that are repeated: every TWICE_EVERY-th in the tournament's seeded order of pairs."""
    return queryset.annotate(turn=F("place") % TWICE_EVERY).filter(turn=0)


def _missing_subjects(assignment: Assignment, limit: int) -> QuerySet[Comparison] | QuerySet[GoldPair]:
    if assignment.gold_set is not None:
        slugs = list(assignment.rubrics.values_list("criterion__slug", flat=True))
        existing = Question.objects.filter(assignment=assignment, gold_pair=OuterRef("pk"))
        return assignment.gold_set.pairs.filter(~Exists(existing), expected__has_any_keys=slugs).order_by("place")[
            :limit
        ]
    existing = Question.objects.filter(assignment=assignment, comparison=OuterRef("pk"))
    related = ("prompt__prompt", "response_a", "response_b", "gold_pair")
    return comparisons(assignment).filter(~Exists(existing)).select_related(*related).order_by("place")[:limit]


def _new_questions(assignment: Assignment, subjects: Sequence[Comparison | GoldPair]) -> Iterator[_NewQuestion]:
    judge, sampling = assignment.judge, sampling_of(assignment.judge)
    rubrics = list(assignment.rubrics.select_related("criterion").order_by("pk"))
    for about in subjects:
        texts = _texts(about)
        for rubric in rubrics:
            if texts is None or (isinstance(about, GoldPair) and rubric.criterion.slug not in about.expected):
                continue
            for first in _orders(assignment, about):
                pair = Pair(*texts) if first is Side.A else Pair(*texts).swapped()
                sent = request(judge.model, rubric_of(rubric), pair, sampling)
                for sample in range(_sample_count(assignment, about)):
                    yield _NewQuestion(about, rubric, first, sample, sent.key(sample, f"judge {judge.pk}"), sent)


def _sample_count(assignment: Assignment, about: Comparison | GoldPair) -> int:
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


def _calls(assignment: Assignment, questions: Sequence[_NewQuestion]) -> dict[str, Call]:
    calls = [
        Call(
            judge=assignment.judge,
            rubric=question.rubric,
            key=question.key,
            sample=question.sample,
            sent=question.request.body,
        )
        for question in {question.key: question for question in questions}.values()
    ]
    Call.objects.bulk_create(calls, ignore_conflicts=True)
    return {call.key: call for call in Call.objects.filter(key__in=[call.key for call in calls])}


def _question(assignment: Assignment, new_question: _NewQuestion, call: Call) -> Question:
    about = (
        {"gold_pair": new_question.about}
        if isinstance(new_question.about, GoldPair)
        else {"comparison": new_question.about}
    )
    return Question(
        assignment=assignment, rubric=new_question.rubric, first=new_question.first.value,
        sample=new_question.sample, call=call, **about
    )  # fmt: skip
