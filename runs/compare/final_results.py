"""Final results of runs: the evaluator's newest numbers, the steps that they belong to, and the seconds taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import F, Sum
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import expected_keys
from runs.metrics import HEADLINE, HeadlineMetric
from runs.models import Attempt, Run, Series

SECONDS = "seconds"


@dataclass(frozen=True)
class Outcome:
    """A number by which runs are compared, titled `label`. `more_is`: meaning of a higher value; "" if it has none."""

    name: str
    key: str
    label: str
    more_is: str = ""
    is_share: bool = False

    @property
    def title(self) -> str:
        """Return the title in the reader's language."""
        return gettext(self.label)

    @property
    def higher_is(self) -> str:
        """Return the meaning of a higher value, in the reader's language; "" if it has none."""
        return gettext(self.more_is) if self.more_is else ""


NAMES_AND_MEANINGS = {
    "reward/mean": ("reward", _("better")),
    "accuracy/contains": ("accuracy", _("better")),
    "kl": ("kl", _("farther from the base model")),
    "safety/safe_ratio": ("safe_ratio", _("better")),
    "cost/mean": ("cost", _("more harmful")),
}
"""Keys of the headline metrics -> their names as outcomes, and the meanings of higher values."""


def _outcome(metric: HeadlineMetric) -> Outcome:
    name, more_is = NAMES_AND_MEANINGS[metric.key]
    return Outcome(name, metric.key, metric.title, more_is, metric.is_share)


OUTCOMES = (
    *map(_outcome, HEADLINE),
    Outcome(SECONDS, SECONDS, _("Seconds"), _("slower")),
)


@dataclass(frozen=True)
class Final:
    """A run's numbers by outcome. Values that were not measured, or are not finite, are absent."""

    values: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()


def finals(runs: Sequence[Run]) -> dict[int, Final]:
    """Return the final numbers of each run, by run id. Two queries, however many runs; no point is read.

    Seconds are the sum over all attempts, without time in queues, up to now if an attempt still runs.
    """
    names = {outcome.key: outcome.name for outcome in OUTCOMES}
    values: dict[int, dict[str, float]] = {run.pk: {} for run in runs}
    steps: dict[int, dict[str, int]] = {run.pk: {} for run in runs}
    unusable: dict[int, list[str]] = {run.pk: [] for run in runs}
    rows = Series.objects.filter(run__in=list(values), key__in=list(names))
    for run_id, key, value, step in rows.values_list("run_id", "key", "last_value", "last_step"):
        if math.isfinite(value):
            values[run_id][names[key]], steps[run_id][names[key]] = value, step
        else:
            unusable[run_id].append(names[key])
    for run_id, duration in _run_durations(runs).items():
        values[run_id][SECONDS] = duration.total_seconds()
    return {pk: Final(values[pk], steps[pk], tuple(sorted(unusable[pk]))) for pk in values}


def compared_outcomes(runs: Sequence[Run], numbers: Mapping[int, Final]) -> tuple[Outcome, ...]:
    """Return the outcomes of these runs in order: the headline metrics of their tasks, others that they have recorded,
    and the seconds."""
    keys = {SECONDS}.union(*map(expected_keys, runs))
    recorded = {name for final in numbers.values() for name in (*final.values, *final.unusable)}
    return tuple(outcome for outcome in OUTCOMES if outcome.key in keys or outcome.name in recorded)


def _run_durations(runs: Sequence[Run]) -> dict[int, timedelta]:
    started = Attempt.objects.filter(run__in=runs, started_at__isnull=False).order_by().values("run_id")
    sums = started.annotate(took=Sum(Coalesce(F("ended_at"), Now()) - F("started_at")))
    return dict(sums.values_list("run_id", "took"))
