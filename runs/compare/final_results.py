"""The last word on each run: the evaluator's newest numbers, the steps they are of, and the seconds it took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import F, Sum
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Attempt, Run, Series

SECONDS = "seconds"


@dataclass(frozen=True)
class Outcome:
    """A number that runs are compared by, called `words`. more_is: what more of it means; "" where that is nothing."""

    name: str
    key: str
    words: str
    more_is: str = ""
    is_share: bool = False

    @property
    def title(self) -> str:
        """What it is called, in the reader's language."""
        return gettext(self.words)

    @property
    def higher_is(self) -> str:
        """What more of it means, in the reader's language."""
        return gettext(self.more_is) if self.more_is else ""


OUTCOMES = (
    Outcome("reward", "reward/mean", _("Held-out reward"), _("better")),
    Outcome("kl", "kl", _("KL, nats per token"), _("farther from the base model")),
    Outcome("accuracy", "accuracy/contains", _("Accuracy"), _("better"), is_share=True),
    Outcome(SECONDS, SECONDS, _("Seconds"), _("slower")),
)


@dataclass(frozen=True)
class Final:
    """A run's numbers by outcome. What was not measured, or is not finite, is absent: it is no number."""

    values: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()


def finals(runs: Sequence[Run]) -> dict[int, Final]:
    """run id -> its final numbers. Two queries, however many runs; no point is read.

    Seconds are those of all attempts, waiting in queues left out, to now where one still runs.
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
    for run_id, took in _took(runs).items():
        values[run_id][SECONDS] = took.total_seconds()
    return {pk: Final(values[pk], steps[pk], tuple(sorted(unusable[pk]))) for pk in values}


def _took(runs: Sequence[Run]) -> dict[int, timedelta]:
    started = Attempt.objects.filter(run__in=runs, started_at__isnull=False).order_by().values("run_id")
    sums = started.annotate(took=Sum(Coalesce(F("ended_at"), Now()) - F("started_at")))
    return dict(sums.values_list("run_id", "took"))
