"""Compare a judge with humans: its verdicts on gold pairs, and whether they are good enough for a board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_noop as _

from judging.judge_runs.results import outcome_of
from judging.models import Assignment, Calibration, Judge, Question, Rubric, Side, Tournament, Verdict
from judging.stats.agreement import Estimate, Pair, Swaps, build_labels, compare_raters, find_swaps, slot_share
from judging.stats.votes import COUNTED, MISSING, Outcome, Votes
from workers.analysis.resampling import estimate_statistic, share_statistic

MIN_PAIRS = 30
MIN_CONSISTENT_SHARE = 0.6
"""The minimum share of pairs that are judged alike in both orders; published judges reach from a half to nearly all."""
MAX_MISSING_SHARE = 0.05
CHANCE = 0.5
EXPECTED = {"a": Outcome.A, "b": Outcome.B, "tie": Outcome.TIE}
HUMANS, JUDGE = 0, 1


def measure(assignment: Assignment) -> list[Calibration]:
    """Create a calibration for each rubric of an assignment to a gold set whose questions have been asked."""
    assert assignment.gold_set is not None  # noqa: S101  (only such ones are measured)
    return [
        Calibration.objects.create(
            judge=assignment.judge, rubric=rubric, gold_set=assignment.gold_set, **_measurement(votes)
        )
        for rubric in assignment.rubrics.select_related("criterion")
        if (votes := _votes(assignment, rubric)) is not None
    ]


def _measurement(votes: Votes) -> dict[str, Any]:
    label_table = build_labels(votes)
    judged = votes.select(votes.annotator == JUDGE)
    with_people, turned = compare_raters(label_table, HUMANS, JUDGE), find_swaps(judged)
    missing = sum(judged.count_outcome(outcome) for outcome in MISSING)
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
    """Return the names of the reasons that keep the judge from boards; pages translate them into sentences."""
    conditions = {
        "few": with_people.items < MIN_PAIRS,
        "chance": not _is_above_chance(with_people.raw),
        "swaps": turned.consistent is not None and turned.consistent < MIN_CONSISTENT_SHARE,
        "one_order": turned.consistent is None,
        "missing": missing > MAX_MISSING_SHARE,
    }
    return [name for name, is_met in conditions.items() if is_met]


def _is_above_chance(accuracy: Estimate) -> bool:
    return accuracy.low is not None and accuracy.low > CHANCE


def _votes(assignment: Assignment, rubric: Rubric) -> Votes | None:
    """Return the verdicts of humans and of the judge on the gold pairs, as votes between "a" and "b". None if nothing
    was asked."""
    selected = Question.objects.filter(assignment=assignment, rubric=rubric).select_related("gold_pair", "call")
    questions = list(selected.order_by("gold_pair__place", "first", "sample"))
    if not questions:
        return None
    positions = {question.gold_pair_id: k for k, question in enumerate(questions)}
    prompts = {pk: k for k, pk in enumerate(positions)}
    by_pair = {question.gold_pair_id: question for question in questions}.values()
    rows = [(prompts[q.gold_pair_id], HUMANS, 0, 1, _expected_outcome(q, rubric), 0) for q in by_pair]
    rows += [(prompts[q.gold_pair_id], JUDGE, *_sides(q), outcome_of(q.call), 1) for q in questions]
    return _as_votes(rows, len(prompts))


def _sides(question: Question) -> tuple[int, int]:
    return (0, 1) if question.first == Side.A else (1, 0)


def _expected_outcome(question: Question, rubric: Rubric) -> Outcome:
    assert question.gold_pair is not None  # noqa: S101  (of an assignment to a gold set)
    return EXPECTED[question.gold_pair.expected[rubric.criterion.slug]]


def _as_votes(rows: Sequence[tuple[int, int, int, int, int, int]], prompts: int) -> Votes:
    columns = np.array(rows, np.int64).T
    return Votes(
        ("a", "b"), columns[2], columns[3], columns[4], tuple(map(str, range(prompts))), columns[0],
        ("people", "judge"), columns[1], columns[5], np.ones(len(rows)),
    )  # fmt: skip


NOT_TWICE = _("n/a: nothing was judged twice")
COUNTED_NAMES = [outcome.name.lower() for outcome in COUNTED]


@dataclass(frozen=True)
class RepeatConsistency:
    """Consistency by one rubric: how many questions were asked twice, how many of those have two verdicts, and the
    share of these that are equal, with prompts resampled."""

    rubric: Rubric
    repeated: int
    judged: int
    alike: Estimate


def measure_repeats(judge: Judge, tournaments: QuerySet[Tournament]) -> list[RepeatConsistency]:
    """Return the consistency by each rubric by which the judge was asked twice in one of these tournaments."""
    rows = list(_rows(judge, tournaments))
    rubrics = Rubric.objects.select_related("criterion").in_bulk({row[0] for row in rows})
    return [_repeat_consistency(rubrics[pk], [row for row in rows if row[0] == pk]) for pk in sorted(rubrics)]


def _rows(judge: Judge, tournaments: QuerySet[Tournament]) -> Iterator[tuple[int, int, str, str | None]]:
    """Yield (rubric, prompt, second outcome, first outcome or None)."""
    current = Verdict.objects.current().filter(judge=judge)
    same = {name: OuterRef(name) for name in ("comparison", "rubric", "first")}
    first = Subquery(current.filter(sample=0, **same).values("outcome")[:1])
    second = current.filter(sample=1, comparison__tournament__in=tournaments).annotate(before=first).order_by("pk")
    yield from second.values_list("rubric", F("comparison__prompt"), "outcome", "before")


def _repeat_consistency(rubric: Rubric, rows: list[tuple[int, int, str, str | None]]) -> RepeatConsistency:
    judged = [
        (prompt, now == before) for _, prompt, now, before in rows if now in COUNTED_NAMES and before in COUNTED_NAMES
    ]
    tables = np.array([(alike, 1) for _, alike in judged], np.float64).reshape(-1, 2)
    prompts = np.array([prompt for prompt, _ in judged], np.int64)
    return RepeatConsistency(
        rubric, len(rows), len(judged), estimate_statistic(tables, prompts, share_statistic, NOT_TWICE)
    )
