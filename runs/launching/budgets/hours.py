"""The GPU and CPU hours of runs: estimated, spent, and shared by person, experiment, sweep or cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, FloatField, Q, QuerySet, Sum, Value
from django.db.models.expressions import Combinable, CombinedExpression
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Extract, Greatest, Now

from runs.models import Attempt, Run
from workers.config import RunConfig

HOUR = 3600.0
BY = {
    "person": ("run__created_by", "run__created_by__username"),
    "experiment": ("run__experiment", "run__experiment__name"),
    "sweep": ("run__sweep", "run__sweep__name"),
    "cluster": ("cluster", "cluster__name"),
}
"""What hours are told apart by: key and name."""
SHARES_AT_MOST = 500


@dataclass(frozen=True)
class Hours:
    """A run with GPUs costs hours of those, whatever cores feed them; one without costs hours of its cores."""

    gpu: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.gpu + other.gpu, self.cpu + other.cpu)


def hours_of(config: RunConfig, seconds: float) -> Hours:
    """What so many seconds of a run cost."""
    compute = config.compute
    hours = seconds / HOUR
    return Hours(gpu=hours * compute.gpus) if compute.gpus else Hours(cpu=hours * compute.cores)


def spent(attempts: QuerySet[Attempt], since: datetime | None = None) -> Hours:
    """What these attempts have taken, from their starts to their ends or to now; of that only what lies after `since`.

    Time in queues costs nothing, and neither does what ran elsewhere and was imported.
    """
    return Hours(**ran(attempts, since).aggregate(**sums("run__", F("took"))))


def ran(attempts: QuerySet[Attempt], since: datetime | None = None) -> QuerySet[Attempt]:
    """Those that have run on our clusters, after `since` where that is given; `took` is their seconds."""
    began: Combinable = F("started_at")
    found = attempts.filter(started_at__isnull=False, cluster__isnull=False)
    if since is not None:
        found = found.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=since))
        began = Greatest(F("started_at"), Value(since))
    took = Extract(Coalesce(F("ended_at"), Now()) - began, "epoch")
    # A clock that was set back takes no hours away.
    return found.annotate(took=Greatest(Cast(took, FloatField()), Value(0.0)))


def expected(runs: QuerySet[Run]) -> tuple[Hours, int]:
    """What these runs were estimated to cost together, and how many of them had no estimate."""
    found = runs.aggregate(**sums("", F("estimated_seconds")), unknown=Count("pk", Q(estimated_seconds=None)))
    unknown = found.pop("unknown")
    return Hours(**found), unknown


def total(hours: Iterable[Hours]) -> Hours:
    """All of them together."""
    return sum(hours, Hours())


def sums(path: str, seconds: Combinable) -> dict[str, Any]:
    """Aggregates `gpu` and `cpu`, in hours, of seconds of runs whose config is at `path`."""
    gpus, cores = _resource(path, "gpus", 0), _resource(path, "cores", 1)
    nothing = Value(0.0)
    return {
        "gpu": Coalesce(Sum(_hours(seconds, gpus)), nothing, output_field=FloatField()),
        "cpu": Coalesce(Sum(_hours(seconds, cores), filter=_without_gpu(path)), nothing, output_field=FloatField()),
    }


def _hours(seconds: Combinable, resource: Combinable) -> CombinedExpression:
    return CombinedExpression(seconds, "*", resource / Value(HOUR), output_field=FloatField())


def _resource(path: str, name: str, default: int) -> Combinable:
    text = KeyTextTransform(name, KeyTextTransform("compute", F(f"{path}config")))
    return Coalesce(Cast(text, FloatField()), Value(float(default)), output_field=FloatField())


def _without_gpu(path: str) -> Q:
    return Q(**{f"{path}config__compute__gpus": 0})


@dataclass(frozen=True)
class Share:
    """What took these hours, and in how many runs. `key` is its row's; None with the runs of no sweep."""

    key: int | None
    name: str
    hours: Hours
    runs: int


def shares(runs: QuerySet[Run], by: str, since: datetime | None = None) -> list[Share]:
    """The dearest first, 500 at most. One query. `by` is one of BY."""
    attempts = ran(Attempt.objects.filter(run__in=runs), since).order_by()
    found = attempts.values(*BY[by]).annotate(**sums("run__", F("took")), runs=Count("run", distinct=True))
    return [
        Share(row[BY[by][0]], row[BY[by][1]] or "", Hours(row["gpu"], row["cpu"]), row["runs"])
        for row in found.order_by("-gpu", "-cpu", BY[by][1])[:SHARES_AT_MOST]
    ]
