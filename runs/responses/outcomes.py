"""Reward and gold measure of a run's evaluations, read from its stored responses, by prompt.

The gold measure of a task is declared by its options (`workers.config.tasks`): whether the answer is right, or whether
the response is safe (cost at most 0).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.db import connection
from django.db.models import Case, Count, Q, QuerySet, Sum, When

from runs import metrics
from runs.models import EVALUATION, Response, Run, choose_last_step, list_evaluated_steps
from workers.analysis.proxy_gold import Change, Level, Measured, Movement, change, level, movement, pool
from workers.config.tasks import TASKS, GoldMeasure, TaskOptions

MAX_STEPS = 60
"""Evaluations of a run that are read, evenly selected; always the first and the last two."""
MAX_RESPONSES = 60_000
"""Responses that are read for one run: with larger evaluations, fewer evaluations are read."""
ALL, GREEDY, SAMPLED = "all", "greedy", "sampled"
SELECTIONS = (GREEDY, SAMPLED)
REWARD, GOLD = "reward", "gold"
FINITE = Q(reward__gt=-math.inf, reward__lt=math.inf)
KNOWN_AND_REACHED = {
    "right": (Q(is_right__isnull=False), Q(is_right=True)),
    "safe": (Q(cost__isnull=False), Q(cost__lte=0)),
}
"""Condition of a response whose gold measure is known, and of one that reaches it."""
STEPS_SQL = """
WITH RECURSIVE evaluated (step) AS (
  SELECT min(step) FROM runs_response WHERE run_id = %(run)s AND split = %(split)s AND NOT is_superseded
  UNION ALL
  SELECT (SELECT min(step) FROM runs_response
          WHERE run_id = %(run)s AND split = %(split)s AND NOT is_superseded AND step > evaluated.step)
  FROM evaluated WHERE step IS NOT NULL
) SELECT step FROM evaluated WHERE step IS NOT NULL
"""
"""One index probe a step, however many responses a step has."""
Selections: TypeAlias = Mapping[str, Measured]
"""greedy or sampled -> a measure of these responses; without an entry where there are none."""


@dataclass(frozen=True, eq=False)
class StepOutcome:
    """Reward and gold measure of one whole evaluation."""

    step: int
    reward: Selections
    gold: Selections

    def level(self, measure: str, selection: str) -> Level | None:
        """Return the mean of a measure (REWARD or GOLD) over the greedy or the sampled responses; None without any."""
        measured = self.of(measure).get(selection)
        return None if measured is None else level(measured)

    def of(self, measure: str) -> Selections:
        """Return the selections of a measure, REWARD or GOLD."""
        return self.reward if measure == REWARD else self.gold


@dataclass(frozen=True)
class Outcomes:
    """Evaluations of a run, ascending. gold: name of its gold measure. total: the number of evaluations with responses,
    of which `steps` are read. partial: those of the read ones that are left out because responses are missing."""

    gold: GoldMeasure
    steps: Sequence[StepOutcome] = ()
    total: int = 0
    partial: int = 0

    @property
    def has_gold(self) -> bool:
        """Return whether the gold measure of any response is known."""
        return any(outcome.gold for outcome in self.steps)

    @property
    def base(self) -> StepOutcome | None:
        """Return the evaluation before training, at step 0; None if the run has none."""
        return self.steps[0] if self.steps and self.steps[0].step == 0 else None

    @property
    def last(self) -> StepOutcome | None:
        """Return the last evaluation after training began; None before."""
        return self.steps[-1] if self.steps and self.steps[-1].step > 0 else None

    def change(self, measure: str, selection: str = ALL) -> Change | None:
        """Return the change of a measure from `base` to `last`, paired by prompt; None if it is not known."""
        pair = self._pair(measure, selection)
        return change(*pair) if pair else None

    def movement(self, selection: str = ALL) -> Movement | None:
        """Return the changes of reward and gold measure from `base` to `last`; None if they are not known."""
        reward, gold = self._pair(REWARD, selection), self._pair(GOLD, selection)
        return movement(reward, gold) if reward and gold else None

    def _pair(self, measure: str, selection: str) -> tuple[Measured, Measured] | None:
        if self.base is None or self.last is None:
            return None
        before, after = self.base.of(measure), self.last.of(measure)
        # Greedy and sampled responses differ, so both evaluations have to hold the same of the two.
        names = [
            name for name in (SELECTIONS if selection == ALL else (selection,)) if name in before and name in after
        ]
        return (pool([before[n] for n in names]), pool([after[n] for n in names])) if names else None


def read_outcomes(run: Run) -> Outcomes:
    """Return the run's outcomes. Four queries, each bounded however many evaluations the run has."""
    gold = gold_of(run)
    steps = _evaluated_steps(run)
    if not steps:
        return Outcomes(gold)
    selected = _select(steps, _own_responses(run).filter(step=steps[-1]).count())
    rows = _own_responses(run).filter(step__in=selected)
    evaluated = list_evaluated_steps([run], steps=selected).get(run.pk, ())
    last = choose_last_step(evaluated)
    whole = {step.step for step in evaluated if not step.is_partial or step == last}
    outcomes = [outcome for outcome in _read_steps(rows, gold) if outcome.step in whole]
    return Outcomes(gold, outcomes, len(steps), len(evaluated) - len(outcomes))


def gold_of(run: Run) -> GoldMeasure:
    """Return the gold measure of the run's task: right or safe."""
    return TASKS.get(metrics.task_of(run.config), TaskOptions).gold


def _own_responses(run: Run) -> QuerySet[Response]:
    """Return the current responses of the run's evaluations, without those to prior tasks: they have another reward."""
    rows = Response.objects.filter(run=run, split=EVALUATION, is_superseded=False)
    return rows.exclude(prompt__categories__overlap=run.prior_tasks) if run.prior_tasks else rows


def _evaluated_steps(run: Run) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(STEPS_SQL, {"run": run.pk, "split": EVALUATION})
        return [step for (step,) in cursor.fetchall()]


def _select(steps: Sequence[int], responses_per_step: int) -> list[int]:
    """Return the steps to read. The last but one is included, because the last may be partial."""
    limit = max(3, min(MAX_STEPS, MAX_RESPONSES // max(1, responses_per_step)))
    return [*metrics.sample_evenly(steps[:-1], limit - 1), steps[-1]]


def _read_steps(rows: QuerySet[Response], gold: str) -> list[StepOutcome]:
    """Return the outcomes of the rows by step. The database adds up the responses of a prompt."""
    known, reached = KNOWN_AND_REACHED[gold]
    grouped = rows.order_by().values_list("step", "prompt_id", Case(When(sample=0, then=True), default=False))
    sums = grouped.annotate(
        n=Count("pk", FINITE), total=Sum("reward", filter=FINITE), binary=Count("pk", Q(reward__in=(0, 1))),
        known=Count("pk", known), reached=Count("pk", reached),
    )  # fmt: skip
    by_step: dict[int, dict[str, list[tuple[Any, ...]]]] = defaultdict(lambda: {GREEDY: [], SAMPLED: []})
    for step, prompt, is_greedy, *numbers in sums:
        by_step[step][GREEDY if is_greedy else SAMPLED].append((prompt, *numbers))
    return [_outcome(step, by_step[step]) for step in sorted(by_step)]


def _outcome(step: int, rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> StepOutcome:
    reward, gold = {}, {}
    for selection, numbers in rows.items():
        ordered = sorted(numbers)
        rewarded = [(prompt, total, n) for prompt, n, total, *_ in ordered if n]
        is_share = all(binary == n for _, n, _, binary, *_ in ordered)
        answered = [(prompt, reached, known) for prompt, *_, known, reached in ordered if known]
        if rewarded:
            reward[selection] = _measured(rewarded, is_share=is_share)
        if answered:
            gold[selection] = _measured(answered, is_share=True)
    return StepOutcome(step, reward, gold)


def _measured(rows: Sequence[tuple[int, float, int]], *, is_share: bool) -> Measured:
    """Return the measure of (prompt, sum, number of responses), ascending by prompt."""
    prompts, sums, counts = zip(*rows, strict=True)
    return Measured(np.array(prompts, np.int64), np.array(sums, np.float64), np.array(counts, np.int64), is_share)
