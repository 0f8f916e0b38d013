"""Evaluations of runs as far as their answers are here. Only this module decides whether an evaluation is whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext

from runs.models.experiment import Run
from runs.models.response import Response
from workers.executors.states import State

EVALUATION = "eval"
"""The split that the evaluation plan is about. No plan says how many answers another split has."""


@dataclass(frozen=True)
class EvaluatedStep:
    """A step with `answers` that hold, of the `whole` number that its evaluation asks for."""

    step: int
    answers: int
    whole: int

    @property
    def is_partial(self) -> bool:
        """Return whether answers are missing: the run ended amid the evaluation, or the answers are still arriving."""
        return self.answers < self.whole

    @property
    def words(self) -> str:
        """`5 of 32 answers`."""
        return gettext("%(n)s of %(whole)s answers") % {"n": self.answers, "whole": self.whole}


def list_evaluated_steps(runs: Iterable[Run], split: str = EVALUATION) -> dict[int, tuple[EvaluatedStep, ...]]:
    """Return by run id the steps at which its answers were stored, ascending. One query, however many runs there are.

    A run that was imported has no partial steps: such a run is partial as a whole (its state).
    """
    by_id = {run.pk: run for run in runs}
    rows = Response.objects.filter(run__in=list(by_id), split=split, is_superseded=False).order_by("run", "step")
    counts = rows.values_list("run", "run__source", "step").annotate(n=Count("pk"), greedy=Count("pk", Q(sample=0)))
    steps = {}
    for (pk, source), found in groupby(counts, lambda row: row[:2]):
        answered = [(step, n, greedy) for _, _, step, n, greedy in found]
        whole = _count_whole(by_id[pk], answered) if source is None and split == EVALUATION else 0
        steps[pk] = tuple(EvaluatedStep(step, n, max(n, whole)) for step, n, _ in answered)
    return steps


def choose_last_step(steps: Sequence[EvaluatedStep]) -> EvaluatedStep | None:
    """Return the last evaluation that is whole; the last one if none is; None if there is none."""
    whole = [step for step in steps if not step.is_partial] or steps
    return whole[-1] if whole else None


def _count_whole(run: Run, answered: Sequence[tuple[int, int, int]]) -> int:
    """Return how many answers an evaluation of the run has, from (step, answers, greedy answers) of each; 0 if unknown.

    A run asks the same at each step and evaluates one step after another, so that of several one at least is whole.
    A single one is held against the plan, which asks less where the task has fewer prompts: samples are written after
    all greedy answers, so these tell the number of prompts once there is any sample.
    """
    ((_, n, greedy), *others) = answered
    if others or run.state == State.SUCCEEDED:
        return max(n for _, n, _ in answered)
    plan = run.config.get("evaluation") if isinstance(run.config, dict) else None
    prompts, samples = (_read_count(plan, name) for name in ("prompts", "samples"))
    if prompts is None or samples is None:
        return 0
    return (greedy if n > greedy else prompts) * (1 + samples)


def _read_count(plan: Any, name: str) -> int | None:
    value = plan.get(name) if isinstance(plan, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
