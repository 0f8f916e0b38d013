"""Final results of runs: the evaluator's newest numbers, the steps that they belong to, and the seconds taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import F, Sum
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_noop as _

from runs.charts import GroupEnd, expected_keys, read_group_ends
from runs.metrics import HEADLINE, resolve_fallbacks
from runs.metrics.catalogue import Metric
from runs.models import Attempt, Run, Series

SECONDS = "seconds"
OUTCOMES = (*HEADLINE, Metric(SECONDS, _("Seconds"), more_is=_("slower")))
"""The numbers by which runs are compared."""


@dataclass(frozen=True)
class Final:
    """A run's numbers by outcome, with the steps that they belong to. Values that were not measured, or are not finite,
    are absent. unusable: outcomes whose last value is not finite.

    last_steps: the run's own last steps of the outcomes of which its group has other last steps, too, or other values
    at its end; `values` are then those at the last step that all runs of the group have, absent if they have none.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()
    last_steps: Mapping[str, int] = field(default_factory=dict)


def finals(runs: Sequence[Run]) -> dict[int, Final]:
    """Return the final numbers of each run, by run id. Two queries, however many runs; no point is read.

    Seconds are the sum over all attempts, without time in queues, up to now if an attempt still runs.
    """
    keys = [outcome.key for outcome in OUTCOMES]
    values: dict[int, dict[str, float]] = {run.pk: {} for run in runs}
    steps: dict[int, dict[str, int]] = {run.pk: {} for run in runs}
    unusable: dict[int, list[str]] = {run.pk: [] for run in runs}
    rows = Series.objects.filter(run__in=list(values), key__in=keys)
    for run_id, key, value, step in rows.values_list("run_id", "key", "last_value", "last_step"):
        if math.isfinite(value):
            values[run_id][key], steps[run_id][key] = value, step
        else:
            unusable[run_id].append(key)
    for run_id, duration in _run_durations(runs).items():
        values[run_id][SECONDS] = duration.total_seconds()
    return {pk: Final(values[pk], steps[pk], tuple(sorted(unusable[pk]))) for pk in values}


def at_common_steps(groups: Iterable[Sequence[Run]], numbers: Mapping[int, Final]) -> dict[int, Final]:
    """Return the numbers with those of each group at the last step that all of its runs have.

    A run is a member of one group at most. One query if the runs of any group end at different steps, or without a
    finite value.
    """
    uneven = [(runs, outcome) for runs in groups for outcome in OUTCOMES if _ends_differ(runs, outcome, numbers)]
    out = dict(numbers)
    ends = read_group_ends([([run.pk for run in runs], outcome.key) for runs, outcome in uneven])
    for (runs, outcome), end in zip(uneven, ends, strict=True):
        for run in runs:
            if run.pk in end.last_steps:
                out[run.pk] = _at_end(out[run.pk], outcome.key, end, run.pk)
    return out


def _ends_differ(runs: Sequence[Run], outcome: Metric, numbers: Mapping[int, Final]) -> bool:
    if outcome.key == SECONDS:
        return False
    finals_of_runs = [numbers[run.pk] for run in runs]
    steps = {final.steps[outcome.key] for final in finals_of_runs if outcome.key in final.steps}
    return len(steps) > 1 or any(outcome.key in final.unusable for final in finals_of_runs)


def _at_end(final: Final, name: str, end: GroupEnd, run_id: int) -> Final:
    """Return the numbers of a run with that of one outcome at its group's last step."""
    values = {key: value for key, value in final.values.items() if key != name}
    steps = {key: step for key, step in final.steps.items() if key != name}
    if run_id in end.values and end.step is not None:
        values[name], steps[name] = end.values[run_id], end.step
    unusable = tuple(key for key in final.unusable if key != name or run_id not in end.values)
    return Final(values, steps, unusable, {**final.last_steps, name: end.last_steps[run_id]})


def compared_outcomes(runs: Sequence[Run], numbers: Mapping[int, Final]) -> tuple[Metric, ...]:
    """Return the outcomes of these runs in order: the headline metrics of their tasks, others that they have recorded,
    and the seconds."""
    keys = {SECONDS}.union(*(_outcome_keys(run, numbers[run.pk]) for run in runs))
    return tuple(outcome for outcome in OUTCOMES if outcome.key in keys)


def _outcome_keys(run: Run, final: Final) -> list[str]:
    recorded = {*final.values, *final.unusable}
    return resolve_fallbacks(expected_keys(run) | recorded, recorded)


def _run_durations(runs: Sequence[Run]) -> dict[int, timedelta]:
    started = Attempt.objects.filter(run__in=runs, started_at__isnull=False).order_by().values("run_id")
    sums = started.annotate(took=Sum(Coalesce(F("ended_at"), Now()) - F("started_at")))
    return dict(sums.values_list("run_id", "took"))
