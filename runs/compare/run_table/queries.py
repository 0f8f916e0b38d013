"""How many runs a query asks for and, where they are few, which: a page of these is sorted without looking again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import BigIntegerField, BooleanField, Case, Count, F, Func, QuerySet, Value, When
from django.db.models.lookups import LessThanOrEqual

from runs.models import Run

FEW = 5000
"""Of more, a page is full after a short way along the index of its order; of fewer, that way may be all of it."""
IDS = ArrayField(BigIntegerField())


@dataclass(frozen=True)
class RunCount:
    """How many runs there are; `few` are their primary keys, None where they are many."""

    total: int
    few: tuple[int, ...] | None


def find(runs: QuerySet[Run]) -> RunCount:
    """Counts and names the runs in one query."""
    is_few = LessThanOrEqual(Count("pk"), Value(FEW))
    few = Case(When(is_few, then=ArrayAgg("pk")), output_field=IDS)
    counted = runs.order_by().aggregate(total=Count("pk"), few=few)
    return RunCount(counted["total"], tuple(counted["few"] or ()) if counted["total"] <= FEW else None)


def those(pks: Sequence[int]) -> QuerySet[Run]:
    """The runs of these primary keys, told to the database as one value."""
    given = Value(list(pks), output_field=IDS)
    return Run.objects.filter(
        Func(F("pk"), given, template="%(expressions)s)", arg_joiner=" = ANY(", output_field=BooleanField())
    )
