"""SQL expressions of columns, which a query compares, sorts and averages."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    DurationField,
    F,
    FilteredRelation,
    FloatField,
    Func,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)

from runs import metrics
from runs.compare.run_table.columns import Column, Kind
from runs.models import Batch, Flag, Run
from runs.models.job import OPEN

NAN = float("nan")
STORED = {
    "name": "name", "state": "state", "method": "method", "preset": "preset", "seed": "seed", "created": "pk",
    "by": "created_by__username", "note": "note", "recipe": "recipe",
}  # fmt: skip
ROW_RELATIONS = {Kind.METRIC: "series", Kind.CONFIG: "knobs"}
"""Relations of values that are stored as separate rows, which have a sorted index."""


class ConfigValue(Func):
    """Read the value at a path of a config, as JSON; NULL if the path is missing or its value is null."""

    template = "NULLIF(%(expressions)s, 'null'::jsonb)"
    arg_joiner = " #> "
    output_field = JSONField()

    def __init__(self, path: list[str]) -> None:
        super().__init__(F("config"), Value(path, output_field=ArrayField(TextField())))


def annotate_column(runs: QuerySet[Run], column: Column, name: str) -> QuerySet[Run]:
    """Annotate the runs with the column's value as `name`, to filter and sort; NULL if a run has none.

    PostgreSQL sorts NaN above all numbers; here NaN counts as no value, so that no table has it at the top. Only the
    start of a config's long text is compared (`Knob`).
    """
    row_relation = ROW_RELATIONS.get(column.kind)
    if row_relation is None:
        return runs.annotate(**{name: column_expression(column)})
    relation, field = join_name(name), column.summary or "value"
    condition = Q(**{f"{row_relation}__key": column.metric if column.kind is Kind.METRIC else column.key})
    if column.kind is Kind.METRIC:
        condition &= Q(**{f"{row_relation}__{field}__lt": NAN})
    runs = runs.annotate(**{relation: FilteredRelation(row_relation, condition=condition)})
    return runs.annotate(**{name: F(f"{relation}__{field}")})


def join_name(name: str) -> str:
    """Return the name of the join for a value of this name that is stored in separate rows."""
    return f"{name}_row"


def column_expression(column: Column) -> Any:
    """Return the column's value of a run, for every kind but metrics, which need a join. A config value is whole."""
    if column.kind is Kind.CONFIG:
        return ConfigValue(column.path)
    if column.kind is Kind.FLAGS:
        return _open_flags()
    if column.key == "step":
        return _step()
    if column.key == "time":
        return _seconds()
    if column.key == "origin":
        return metrics.origin_expression()
    return F(STORED[column.key])


def flagged_runs(detector: str = "any") -> QuerySet[Flag, Any]:
    """Return the keys of runs with an open flag, by any detector or by one. Few runs have any, so read them first."""
    flags = Flag.objects.open()
    return (flags if detector == "any" else flags.filter(detector=detector)).values("run")


def _open_flags() -> Subquery:
    """Return the number of open flags of a run; NULL if it has none. Use it only on few runs, or on `flagged_runs`."""
    flags = Flag.objects.open().filter(run=OuterRef("pk")).order_by().values("run")
    return Subquery(flags.annotate(n=Count("pk")).values("n"))


def _step() -> Case:
    """Return the last step. It is stored with the run after all its batches are compacted, which is nearly always."""
    now = Func(F("pk"), function="runs_newest_step", output_field=BigIntegerField())
    return Case(When(pk__in=Batch.objects.values("run"), then=now), default=F("last_step"))


def _seconds() -> Case:
    """Return the total seconds of a run's attempts: the finished ones, and the one that still runs."""
    current = Func(F("pk"), function="runs_time_going", output_field=DurationField())
    finished = F("time_taken")
    return Case(When(state__in=OPEN, then=_epoch(finished + current)), default=_epoch(finished))


def _epoch(span: Any) -> Func:
    """Return the seconds of an interval by date_part; EXTRACT uses exact decimals, which is slow over many runs."""
    return Func(Value("epoch"), span, function="date_part", output_field=FloatField())
