"""Count the runs of a query and, if they are few, list their primary keys, so that sorting needs no new query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import BigIntegerField, BooleanField, Case, Count, F, Func, QuerySet, Value, When
from django.db.models.lookups import LessThanOrEqual

from runs.models import Run

FEW = 5000
"""Most runs to list by primary key. With more, a scan of the sort index fills a page early; with fewer, the scan may
read the whole index.
"""
IDS = ArrayField(BigIntegerField())


@dataclass(frozen=True)
class RunCount:
    """Number of runs that fit a query. `few` holds their primary keys, None if they are more than FEW or not listed."""

    total: int
    few: tuple[int, ...] | None


def count_runs(runs: QuerySet[Run]) -> RunCount:
    """Return the number of runs, with their primary keys if they are few. One query."""
    is_few = LessThanOrEqual(Count("pk"), Value(FEW))
    few = Case(When(is_few, then=ArrayAgg("pk")), output_field=IDS)
    counted = runs.order_by().aggregate(total=Count("pk"), few=few)
    return RunCount(counted["total"], tuple(counted["few"] or ()) if counted["total"] <= FEW else None)


def runs_by_pk(pks: Sequence[int]) -> QuerySet[Run]:
    """Return the runs with these primary keys, which go to the database as one array parameter."""
    pk_array = Value(list(pks), output_field=IDS)
    return Run.objects.filter(
        Func(F("pk"), pk_array, template="%(expressions)s)", arg_joiner=" = ANY(", output_field=BooleanField())
    )
