"""Order of runs by the difference of a value from the pinned run's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, ExpressionWrapper, F, FloatField, QuerySet, Value, When
from django.db.models.functions import Abs

from runs import metrics
from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.expressions import annotate_column
from runs.models import Run

INFINITY = float("inf")
VALUE, FACTS = "gap_value", "gap_facts"


@dataclass(frozen=True)
class GapOrigin:
    """The pinned run's value in a column, from which differences are taken; None if it has no finite one.

    facts: the measurements (`metrics.facts_expression`) that are like the pinned run's; None if all runs are.
    """

    value: float | None
    facts: tuple[Any, ...] | None = None


def annotate_gap(runs: QuerySet[Run], column: Column, origin: GapOrigin, name: str) -> QuerySet[Run]:
    """Annotate the runs with the absolute difference of the column's value from the origin, as `name`.

    It is NULL if a run has no finite value, or one that was measured differently.
    """
    if origin.value is None:
        return runs.annotate(**{name: Value(None, output_field=FloatField())})
    # Runs that have not started have no time, which the database stores as 0.
    conditions: dict[str, Any] = {f"{VALUE}__gt": 0} if column.key == "time" else {f"{VALUE}__isnull": False}
    if column.kind is Kind.METRIC:
        conditions = {f"{VALUE}__gt": -INFINITY, f"{VALUE}__lt": INFINITY}
    runs = annotate_column(runs, column, VALUE)
    if origin.facts is not None:
        runs = runs.annotate(**{FACTS: metrics.facts_expression()})
        conditions[f"{FACTS}__in"] = origin.facts
    difference = ExpressionWrapper(F(VALUE) - Value(float(origin.value)), output_field=FloatField())
    return runs.annotate(**{name: Case(When(**conditions, then=Abs(difference)), output_field=FloatField())})
