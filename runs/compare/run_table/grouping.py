"""Rows that are groups of runs: their number of runs, and mean and deviation of every number over them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Avg, Count, F, Max, Q, QuerySet, StdDev

from runs import metrics
from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.expressions import annotate_column, column_expression, flagged_runs
from runs.metrics import Provenance
from runs.models import Run
from workers.executors.states import State

MAX_NUMBER_COLUMNS = 8
PARTIAL = Q(state=State.PARTIAL.value)


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of the n runs of a group that have a value; None if there are too few.

    ways: measurement of the values, if they were measured in several ways; mean and deviation are None then.
    """

    n: int
    mean: float | None
    sd: float | None
    ways: tuple[Provenance, ...] = ()


@dataclass(frozen=True)
class GroupRow:
    """A group: the values that its runs share, the number of runs, the newest run, and the group's numbers.

    partial: number of its runs that have only a part of their responses; the numbers leave these out.
    flagged: number of its runs that have an open flag; None if they were not counted.
    """

    values: tuple[Any, ...]
    n: int
    newest: int
    numbers: dict[str, Spread]
    partial: int = 0
    flagged: int | None = None


def group_runs(
    runs: QuerySet[Run], by: Sequence[Column], numbers: Sequence[Column], size: int, *, with_flags: bool = False
) -> tuple[list[GroupRow], int]:
    """Return the largest `size` groups, and the number of all groups. Two queries; three with held-out values.

    with_flags: also count the runs with an open flag.
    """
    numbers = numbers[:MAX_NUMBER_COLUMNS]
    mixed = _measured_differently(runs, numbers)
    for i, column in enumerate(by):
        # A config's long text is compared as a whole.
        is_config = column.kind is Kind.CONFIG
        runs = (
            runs.annotate(**{f"by_{i}": column_expression(column)})
            if is_config
            else annotate_column(runs, column, f"by_{i}")
        )
    for i, column in enumerate(numbers):
        runs = annotate_column(runs, column, f"number_{i}")
    names = [f"by_{i}" for i in range(len(by))]
    groups = runs.order_by().values(*names)
    total = groups.distinct().count()
    groups = groups.annotate(n=Count("pk"), newest=Max("pk"), partial=Count("pk", filter=PARTIAL))
    if with_flags:
        groups = groups.annotate(flagged=Count("pk", filter=Q(pk__in=flagged_runs())))
    for i, column in enumerate(numbers):
        value = F(f"number_{i}")
        # A single value has no deviation: PostgreSQL returns NULL.
        spread = {
            f"mean_{i}": Avg(value, filter=~PARTIAL), f"sd_{i}": StdDev(value, sample=True, filter=~PARTIAL),
            f"n_{i}": Count(value, filter=~PARTIAL),
        }  # fmt: skip
        groups = groups.annotate(**spread)
        if column in mixed:
            has_value = ~PARTIAL & Q(**{f"number_{i}__isnull": False})
            facts = ArrayAgg(metrics.facts_expression(), distinct=True, filter=has_value, default=[])
            groups = groups.annotate(**{f"facts_{i}": facts})
    rows = groups.order_by("-n", "-newest")[:size]
    return [_row(row, names, numbers) for row in rows], total


def _measured_differently(runs: QuerySet[Run], numbers: Collection[Column]) -> list[Column]:
    """Return the columns in which these runs were measured differently; few tables have any."""
    held_out = [column for column in numbers if column.kind is Kind.METRIC and metrics.is_held_out(column.metric)]
    if not held_out:
        return []
    facts = list(runs.order_by().annotate(facts=metrics.facts_expression()).values_list("facts", flat=True).distinct())
    return [column for column in held_out if len(_ways(column, facts)) > 1]


def _ways(column: Column, facts: Collection[Any]) -> tuple[Provenance, ...]:
    return metrics.ways(metrics.provenance_of_facts(row_facts, column.metric) for row_facts in facts)


def _row(row: dict[str, Any], names: list[str], numbers: Sequence[Column]) -> GroupRow:
    spreads = {}
    for i, column in enumerate(numbers):
        ways = _ways(column, row.get(f"facts_{i}", []))
        is_mixed = len(ways) > 1
        spread = (None, None, ways) if is_mixed else (row[f"mean_{i}"], row[f"sd_{i}"])
        spreads[column.key] = Spread(row[f"n_{i}"], *spread)
    values = tuple(row[name] for name in names)
    return GroupRow(values, row["n"], row["newest"], spreads, row["partial"], row.get("flagged"))


def is_averaged(column: Column) -> bool:
    """Return whether a mean of the column over runs is meaningful."""
    return column.kind is Kind.METRIC or column.key in ("step", "time")
