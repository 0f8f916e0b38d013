"""Who or what took how many hours: a row for each person, experiment, sweep or cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, QuerySet

from runs.costs.hours import Hours, ran, sums
from runs.models import Attempt, Run

BY = {
    "person": ("run__created_by", "run__created_by__username"),
    "experiment": ("run__experiment", "run__experiment__name"),
    "sweep": ("run__sweep", "run__sweep__name"),
    "cluster": ("cluster", "cluster__name"),
}
"""What hours are told apart by: key and name."""
SHARES_AT_MOST = 500


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
