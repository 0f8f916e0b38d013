"""Compute the GPU and CPU hours of runs: estimated, spent, and by user, experiment, sweep or cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, FloatField, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.expressions import Combinable, CombinedExpression
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Extract, Greatest, Now

from runs.models import Attempt, Run
from runs.tables import number
from workers.config import RunConfig
from workers.config.run import AUTO

HOUR = 3600.0
BY = {
    "person": ("run__created_by", "run__created_by__username"),
    "experiment": ("run__experiment", "run__experiment__name"),
    "sweep": ("run__sweep", "run__sweep__name"),
    "cluster": ("cluster", "cluster__name"),
}
"""Maps each grouping of hours to the fields of its key and its name."""
MAX_SHARES = 500


@dataclass(frozen=True)
class Hours:
    """GPU hours and CPU hours. A run with GPUs costs only GPU hours; a run without GPUs costs hours of its cores.

    The GPUs and cores of all nodes count. A run that shares a GPU costs its share of the hours, and one with `auto` a
    whole GPU until its share is planned.
    """

    gpu: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.gpu + other.gpu, self.cpu + other.cpu)


def format_hours(hours: float) -> str:
    """Format hours with three digits; with four decimals if they are few, so that a minute's work is not shown as
    nothing."""
    if hours >= 0.1 or hours == 0:
        return number(hours)
    return f"{hours:.4f}" if hours >= 0.0001 else "< 0.0001"


def hours_of(config: RunConfig, seconds: float, share: float | None = None) -> Hours:
    """Return the hours that a run with this config costs in `seconds` seconds.

    `share` is the share of a GPU that is planned for a run with auto; None if it is not known.
    """
    compute = config.compute
    hours = seconds / HOUR
    if compute.gpu_share is None and share is not None:
        return Hours(gpu=hours * compute.nodes * share)
    return Hours(gpu=hours * compute.all_gpus) if compute.devices else Hours(cpu=hours * compute.all_cores)


def spent_hours(attempts: QuerySet[Attempt], since: datetime | None = None) -> Hours:
    """Return the hours of these attempts, from their starts to their ends or to now; if given, only after `since`.

    Time in queues costs nothing, and neither do imported runs.
    """
    return Hours(**attempts_with_seconds(attempts, since).aggregate(**sums("run__", F("took"), F("gpu_share"))))


def attempts_with_seconds(attempts: QuerySet[Attempt], since: datetime | None = None) -> QuerySet[Attempt]:
    """Return the attempts that have run on our clusters, after `since` if given, with their seconds as `took`."""
    began: Combinable = F("started_at")
    started = attempts.filter(started_at__isnull=False, cluster__isnull=False)
    if since is not None:
        started = started.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=since))
        began = Greatest(F("started_at"), Value(since))
    took = Extract(Coalesce(F("ended_at"), Now()) - began, "epoch")
    # A clock that was set back takes no hours away.
    return started.annotate(took=Greatest(Cast(took, FloatField()), Value(0.0)))


def estimated_hours(runs: QuerySet[Run]) -> tuple[Hours, int]:
    """Return the estimated hours of these runs together, and the number of runs without an estimate."""
    unknown_runs = Count("pk", Q(estimated_seconds=None))
    planned = runs.annotate(share=planned_share())
    sums_by_kind = planned.aggregate(**sums("", F("estimated_seconds"), F("share")), unknown=unknown_runs)
    unknown = sums_by_kind.pop("unknown")
    return Hours(**sums_by_kind), unknown


def total(hours: Iterable[Hours]) -> Hours:
    """Return the sum of these hours."""
    return sum(hours, Hours())


def planned_share() -> Subquery:
    """Return the share of a GPU that was planned for the newest attempt of a run, as an annotation."""
    return Subquery(Attempt.objects.filter(run=OuterRef("pk")).order_by("-n").values("gpu_share")[:1])


def sums(path: str, seconds: Combinable, share: Combinable) -> dict[str, Any]:
    """Return the aggregates `gpu` and `cpu`, in hours, of `seconds` of runs; `path` is the lookup prefix of the run.

    `share` is the share of a GPU that was planned for a run with `auto`, None before it is.
    """
    nodes = _resource(path, "nodes", 1)
    gpus, cores = _gpus(path, share) * nodes, _resource(path, "cores", 1) * nodes
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


def _gpus(path: str, share: Combinable) -> Case:
    is_auto = Q(**{f"{path}config__compute__gpus": AUTO})
    # Only numbers are cast: a CASE evaluates no other branch.
    return Case(
        When(is_auto, then=Coalesce(share, Value(1.0))), default=_resource(path, "gpus", 0), output_field=FloatField()
    )


def _without_gpu(path: str) -> Q:
    return Q(**{f"{path}config__compute__gpus": 0})


@dataclass(frozen=True)
class Share:
    """Hours and number of runs of one user, experiment, sweep or cluster. `key` is its primary key, None for runs
    outside any sweep.
    """

    key: int | None
    name: str
    hours: Hours
    runs: int


def shares(runs: QuerySet[Run], by: str, since: datetime | None = None) -> list[Share]:
    """Return the hours of runs grouped by `by` (a key of BY), most expensive first, 500 groups at most. One query."""
    attempts = attempts_with_seconds(Attempt.objects.filter(run__in=runs), since).order_by()
    groups = attempts.values(*BY[by]).annotate(
        **sums("run__", F("took"), F("gpu_share")), runs=Count("run", distinct=True)
    )
    return [
        Share(row[BY[by][0]], row[BY[by][1]] or "", Hours(row["gpu"], row["cpu"]), row["runs"])
        for row in groups.order_by("-gpu", "-cpu", BY[by][1])[:MAX_SHARES]
    ]
