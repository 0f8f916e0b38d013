"""A column as SQL: what a query compares, sorts and averages."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BigIntegerField,
    Case,
    DurationField,
    F,
    FilteredRelation,
    FloatField,
    Func,
    JSONField,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)

from runs import metrics
from runs.compare.run_table.columns import Column, Kind
from runs.models import Batch, Run
from runs.models.job import OPEN

NAN = float("nan")
STORED = {
    "name": "name", "state": "state", "method": "method", "preset": "preset", "seed": "seed", "created": "pk",
    "by": "created_by__username", "note": "note", "recipe": "recipe",
}  # fmt: skip
KEPT = {Kind.METRIC: "series", Kind.CONFIG: "knobs"}
"""Values that are rows of their own, in the order of an index."""


class ConfigValue(Func):
    """Read the value at a path of a config, as JSON; NULL if the path is missing or its value is null."""

    template = "NULLIF(%(expressions)s, 'null'::jsonb)"
    arg_joiner = " #> "
    output_field = JSONField()

    def __init__(self, path: list[str]) -> None:
        super().__init__(F("config"), Value(path, output_field=ArrayField(TextField())))


def annotated(runs: QuerySet[Run], column: Column, name: str) -> QuerySet[Run]:
    """The runs with the column's value as `name`, for filtering and sorting; NULL where a run has none.

    PostgreSQL takes NaN for the greatest of numbers; here it is no value, so that no table has it at its top. Of a
    config's long text the beginning is compared (`Knob`).
    """
    kept = KEPT.get(column.kind)
    if kept is None:
        return runs.annotate(**{name: expression(column)})
    relation, field = relation_of(name), column.summary or "value"
    known = Q(**{f"{kept}__key": column.metric if column.kind is Kind.METRIC else column.key})
    if column.kind is Kind.METRIC:
        known &= Q(**{f"{kept}__{field}__lt": NAN})
    runs = runs.annotate(**{relation: FilteredRelation(kept, condition=known)})
    return runs.annotate(**{name: F(f"{relation}__{field}")})


def relation_of(name: str) -> str:
    """The join that a value of this name comes from, where it is kept in rows of its own."""
    return f"{name}_row"


def expression(column: Column) -> Any:
    """The column's value of a run, for every kind but metrics, which need a join. A config's value is whole."""
    if column.kind is Kind.CONFIG:
        return ConfigValue(column.path)
    if column.key == "step":
        return _step()
    if column.key == "time":
        return _seconds()
    if column.key == "origin":
        return metrics.origin_expression()
    return F(STORED[column.key])


def _step() -> Case:
    """Kept with the run once all its batches are compacted, which is nearly always."""
    now = Func(F("pk"), function="runs_newest_step", output_field=BigIntegerField())
    return Case(When(pk__in=Batch.objects.values("run"), then=now), default=F("last_step"))


def _seconds() -> Case:
    """Seconds that a run's attempts have taken together: those that have ended, and the one that goes on."""
    going = Func(F("pk"), function="runs_time_going", output_field=DurationField())
    ended = F("time_taken")
    return Case(When(state__in=OPEN, then=_epoch(ended + going)), default=_epoch(ended))


def _epoch(span: Any) -> Func:
    """Not EXTRACT, which counts in exact decimals: over all runs of an experiment that is felt."""
    return Func(Value("epoch"), span, function="date_part", output_field=FloatField())
