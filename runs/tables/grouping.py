"""Rows that are groups of runs: how many there are of each, and mean and spread of every number over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, F, Max, QuerySet, StdDev

from runs.models import Run
from runs.tables.columns import Column, Kind
from runs.tables.expressions import annotated, expression

MOST_COLUMNS = 8


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of the n runs of a group that have a value; None where there are too few."""

    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True)
class GroupRow:
    """The values that its runs share, how many runs those are, the newest of them, and its numbers."""

    values: tuple[Any, ...]
    n: int
    newest: int
    numbers: dict[str, Spread]


def grouped(
    runs: QuerySet[Run], by: Sequence[Column], numbers: Sequence[Column], size: int
) -> tuple[list[GroupRow], int]:
    """The largest `size` groups, and how many groups there are. Two queries."""
    for i, column in enumerate(by):
        # Of a config's long text all is compared.
        is_config = column.kind is Kind.CONFIG
        runs = runs.annotate(**{f"by_{i}": expression(column)}) if is_config else annotated(runs, column, f"by_{i}")
    for i, column in enumerate(numbers[:MOST_COLUMNS]):
        runs = annotated(runs, column, f"number_{i}")
    names = [f"by_{i}" for i in range(len(by))]
    groups = runs.order_by().values(*names)
    total = groups.distinct().count()
    groups = groups.annotate(n=Count("pk"), newest=Max("pk"))
    for i, _ in enumerate(numbers[:MOST_COLUMNS]):
        value = F(f"number_{i}")
        # Of one value there is no deviation: PostgreSQL says NULL.
        spread = {f"mean_{i}": Avg(value), f"sd_{i}": StdDev(value, sample=True), f"n_{i}": Count(value)}
        groups = groups.annotate(**spread)
    rows = groups.order_by("-n", "-newest")[:size]
    return [_row(row, names, numbers) for row in rows], total


def _row(row: dict[str, Any], names: list[str], numbers: Sequence[Column]) -> GroupRow:
    spreads = {
        column.key: Spread(row[f"n_{i}"], row[f"mean_{i}"], row[f"sd_{i}"])
        for i, column in enumerate(numbers[:MOST_COLUMNS])
    }
    return GroupRow(tuple(row[name] for name in names), row["n"], row["newest"], spreads)


def is_averaged(column: Column) -> bool:
    """True for columns whose mean over runs says something."""
    return column.kind is Kind.METRIC or column.key in ("step", "time")
