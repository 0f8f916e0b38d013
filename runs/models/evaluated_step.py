"""Evaluations of runs as far as their responses are stored. Only this module decides whether an evaluation is whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext

from runs.models.experiment import Run, config_section
from runs.models.response import Response
from workers.executors.states import State

EVALUATION = "eval"
"""Split of the evaluation plan. No plan gives the number of responses of another split."""
TRAINING = "train"
"""Split of the completions that a training was updated with."""


@dataclass(frozen=True)
class EvaluatedStep:
    """A step with the number of its current `answers`, of the `whole` number that its evaluation requires."""

    step: int
    answers: int
    whole: int

    @property
    def is_partial(self) -> bool:
        """Return whether answers are missing: the run ended amid the evaluation, or the answers are still arriving."""
        return self.answers < self.whole

    @property
    def words(self) -> str:
        """Return text such as `5 of 32 responses`."""
        return gettext("%(n)s of %(whole)s responses") % {"n": self.answers, "whole": self.whole}


def list_evaluated_steps(
    runs: Iterable[Run], split: str = EVALUATION, steps: Collection[int] | None = None
) -> dict[int, tuple[EvaluatedStep, ...]]:
    """Return by run id the steps at which its answers were stored, ascending; only those of `steps`, if it is given.
    One query, however many runs there are.

    A run that ran elsewhere has no partial steps: an import is partial as a whole (its state), and the evaluation plan
    of an external run is not known.
    """
    by_id = {run.pk: run for run in runs}
    rows = Response.objects.filter(run__in=list(by_id), split=split, is_superseded=False).order_by("run", "step")
    rows = rows if steps is None else rows.filter(step__in=steps)
    counted = rows.values_list("run", "run__source", "run__external", "step")
    counts = counted.annotate(n=Count("pk"), greedy=Count("pk", Q(sample=0)))
    evaluated = {}
    for (pk, source, external), rows_of_run in groupby(counts, lambda row: row[:3]):
        answered = [(step, n, greedy) for *_, step, n, greedy in rows_of_run]
        is_planned = source is None and external is None and split == EVALUATION
        whole = _count_whole(by_id[pk], answered) if is_planned else 0
        evaluated[pk] = tuple(EvaluatedStep(step, n, max(n, whole)) for step, n, _ in answered)
    return evaluated


def choose_last_step(steps: Sequence[EvaluatedStep]) -> EvaluatedStep | None:
    """Return the last evaluation that is whole; the last one if none is; None if there is none."""
    whole = [step for step in steps if not step.is_partial] or steps
    return whole[-1] if whole else None


def _count_whole(run: Run, answered: Sequence[tuple[int, int, int]]) -> int:
    """Return how many answers an evaluation of the run has, from (step, answers, greedy answers) of each; 0 if unknown.

    A run asks the same at each step and evaluates one step after another, so at least one of several evaluations is
    whole. A single evaluation is compared with the plan, of which less applies if the task has fewer prompts: samples
    are written after all greedy answers, so the greedy answers give the number of prompts as soon as a sample exists.
    """
    ((_, n, greedy), *others) = answered
    if others or run.state == State.SUCCEEDED:
        return max(n for _, n, _ in answered)
    plan = config_section(run.config, "evaluation")
    prompts, samples = (_read_count(plan, name) for name in ("prompts", "samples"))
    if prompts is None or samples is None:
        return 0
    return (greedy if n > greedy else prompts) * (1 + samples)


def _read_count(plan: Mapping[str, Any], name: str) -> int | None:
    value = plan.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
