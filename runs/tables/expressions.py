"""A column as SQL: what a query compares, sorts and averages."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    F,
    FilteredRelation,
    FloatField,
    Func,
    JSONField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
)
from django.db.models.functions import Coalesce, Extract, Now

from runs.models import Attempt, Run, Series
from runs.tables.columns import Column, Kind

NAN = float("nan")
STORED = {
    "name": "name", "state": "state", "method": "method", "preset": "preset", "seed": "seed", "created": "pk",
    "by": "created_by__username", "note": "note", "recipe": "recipe",
}  # fmt: skip


class ConfigValue(Func):
    """What a config holds at a path, as JSON; NULL where it holds nothing or null."""

    template = "NULLIF(%(expressions)s, 'null'::jsonb)"
    arg_joiner = " #> "
    output_field = JSONField()

    def __init__(self, path: list[str]) -> None:
        super().__init__(F("config"), Value(path, output_field=ArrayField(TextField())))


def annotated(runs: QuerySet[Run], column: Column, name: str) -> QuerySet[Run]:
    """The runs with the column's value as `name`, for filtering and sorting; NULL where a run has none.

    PostgreSQL takes NaN for the greatest of numbers; here it is no value, so that no table has it at its top.
    """
    if column.kind is not Kind.METRIC:
        return runs.annotate(**{name: expression(column)})
    relation = f"{name}_series"
    known = Q(series__key=column.metric) & Q(**{f"series__{column.summary}__lt": NAN})
    runs = runs.annotate(**{relation: FilteredRelation("series", condition=known)})
    return runs.annotate(**{name: F(f"{relation}__{column.summary}")})


def expression(column: Column) -> Any:
    """The column's value of a run, for every kind but metrics, which need a join."""
    if column.kind is Kind.CONFIG:
        return ConfigValue(column.path)
    if column.key == "step":
        return _step()
    if column.key == "time":
        return _seconds()
    return F(STORED[column.key])


def _step() -> Coalesce:
    newest = Series.objects.filter(run=OuterRef("pk")).order_by().values("run").annotate(newest=Max("last_step"))
    return Coalesce(Subquery(newest.values("newest")), Value(0))


def _seconds() -> Coalesce:
    """Seconds that a run's attempts have taken together."""
    took = Sum(Coalesce(F("ended_at"), Now()) - F("started_at"))
    begun = Attempt.objects.filter(run=OuterRef("pk"), started_at__isnull=False).order_by().values("run")
    seconds = begun.annotate(took=Extract(took, "epoch", output_field=FloatField()))
    return Coalesce(Subquery(seconds.values("took")), Value(0.0), output_field=FloatField())
