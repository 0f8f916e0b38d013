"""Holds a judge against people: its verdicts on gold pairs, and whether they are good enough for a board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_noop as _

from judging.judge_runs.results import outcome_of
from judging.models import Assignment, Calibration, Judge, Question, Rubric, Side, Tournament, Verdict
from judging.stats.agreement import Estimate, Pair, Swaps, labels, pair, slot_share, swaps
from judging.stats.agreement.resampling import estimate, share
from judging.stats.votes import COUNTED, MISSING, Outcome, Votes

LEAST_PAIRS = 30
LEAST_CONSISTENT = 0.6
"""Of pairs, the share that is judged alike both ways round; published judges reach from a half to nearly all."""
MOST_MISSING = 0.05
CHANCE = 0.5
EXPECTED = {"a": Outcome.A, "b": Outcome.B, "tie": Outcome.TIE}
PEOPLE, JUDGE = 0, 1


def measure(assignment: Assignment) -> list[Calibration]:
    """A calibration by each rubric of an assignment to a gold set whose questions have been asked."""
    assert assignment.gold_set is not None  # noqa: S101  (only such ones are measured)
    return [
        Calibration.objects.create(judge=assignment.judge, rubric=rubric, gold_set=assignment.gold_set, **_of(votes))
        for rubric in assignment.rubrics.select_related("criterion")
        if (votes := _votes(assignment, rubric)) is not None
    ]


def _of(votes: Votes) -> dict[str, Any]:
    said = labels(votes)
    judged = votes.where(votes.annotator == JUDGE)
    with_people, turned = pair(said, PEOPLE, JUDGE), swaps(judged)
    missing = sum(judged.number(outcome) for outcome in MISSING)
    complaints = _complaints(with_people, turned, missing / max(len(judged), 1))
    measured = {
        "pairs": with_people.items, "calls": len(judged), "missing": missing, "accuracy": asdict(with_people.raw),
        "accuracy_decided": asdict(with_people.without_ties), "kappa": asdict(with_people.kappa),
        "ties": {"people": with_people.tie_rates[0], "judge": with_people.tie_rates[1]},
        "swap_consistency": turned.consistent, "swapped_pairs": len(turned.games),
        "slot_share": asdict(slot_share(judged)), "complaints": complaints,
    }  # fmt: skip
    return {"measured": measured, "passes": not complaints}


def _complaints(with_people: Pair, turned: Swaps, missing: float) -> list[str]:
    """What keeps the judge from boards: names of reasons, which pages put into words."""
    found = {
        "few": with_people.items < LEAST_PAIRS,
        "chance": not _is_above_chance(with_people.raw),
        "swaps": turned.consistent is not None and turned.consistent < LEAST_CONSISTENT,
        "one_order": turned.consistent is None,
        "missing": missing > MOST_MISSING,
    }
    return [name for name, is_so in found.items() if is_so]


def _is_above_chance(accuracy: Estimate) -> bool:
    return accuracy.low is not None and accuracy.low > CHANCE


def _votes(assignment: Assignment, rubric: Rubric) -> Votes | None:
    """What people and the judge said of the gold pairs, as votes between "a" and "b". None where nothing was asked."""
    asked = Question.objects.filter(assignment=assignment, rubric=rubric).select_related("gold_pair", "call")
    questions = list(asked.order_by("gold_pair__place", "first", "sample"))
    if not questions:
        return None
    places = {question.gold_pair_id: k for k, question in enumerate(questions)}
    prompts = {pk: k for k, pk in enumerate(places)}
    known = {question.gold_pair_id: question for question in questions}.values()
    rows = [(prompts[q.gold_pair_id], PEOPLE, 0, 1, _expected(q, rubric), 0) for q in known]
    rows += [(prompts[q.gold_pair_id], JUDGE, *_sides(q), outcome_of(q.call), 1) for q in questions]
    return _as_votes(rows, len(prompts))


def _sides(question: Question) -> tuple[int, int]:
    return (0, 1) if question.first == Side.A else (1, 0)


def _expected(question: Question, rubric: Rubric) -> Outcome:
    assert question.gold_pair is not None  # noqa: S101  (of an assignment to a gold set)
    return EXPECTED[question.gold_pair.expected[rubric.criterion.slug]]


def _as_votes(rows: Sequence[tuple[int, int, int, int, int, int]], prompts: int) -> Votes:
    columns = np.array(rows, np.int64).T
    return Votes(
        ("a", "b"), columns[2], columns[3], columns[4], tuple(map(str, range(prompts))), columns[0],
        ("people", "judge"), columns[1], columns[5], np.ones(len(rows)),
    )  # fmt: skip


NOT_TWICE = _("n/a: nothing was judged twice")
SAID = [outcome.name.lower() for outcome in COUNTED]


@dataclass(frozen=True)
class Repeated:
    """By one rubric: how many questions were asked twice, how many of those have two verdicts, and the share of them
    that are the same, with prompts resampled."""

    rubric: Rubric
    asked: int
    judged: int
    alike: Estimate


def repeated(judge: Judge, tournaments: QuerySet[Tournament]) -> list[Repeated]:
    """By each rubric by which it was asked something twice in one of these tournaments."""
    rows = list(_rows(judge, tournaments))
    rubrics = Rubric.objects.select_related("criterion").in_bulk({row[0] for row in rows})
    return [_repeated_by(rubrics[pk], [row for row in rows if row[0] == pk]) for pk in sorted(rubrics)]


def _rows(judge: Judge, tournaments: QuerySet[Tournament]) -> Iterator[tuple[int, int, str, str | None]]:
    """(rubric, prompt, what it said the second time, what it said the first)."""
    current = Verdict.objects.current().filter(judge=judge)
    same = {name: OuterRef(name) for name in ("comparison", "rubric", "first")}
    first = Subquery(current.filter(sample=0, **same).values("outcome")[:1])
    second = current.filter(sample=1, comparison__tournament__in=tournaments).annotate(before=first).order_by("pk")
    yield from second.values_list("rubric", F("comparison__prompt"), "outcome", "before")


def _repeated_by(rubric: Rubric, rows: list[tuple[int, int, str, str | None]]) -> Repeated:
    judged = [(prompt, now == before) for _, prompt, now, before in rows if now in SAID and before in SAID]
    tables = np.array([(alike, 1) for _, alike in judged], np.float64).reshape(-1, 2)
    prompts = np.array([prompt for prompt, _ in judged], np.int64)
    return Repeated(rubric, len(rows), len(judged), estimate(tables, prompts, share, NOT_TWICE))
