"""Rows that are groups of runs: their number of runs, and mean and deviation of every number over them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    Avg,
    BigIntegerField,
    Case,
    Count,
    F,
    FilteredRelation,
    Max,
    Min,
    Q,
    QuerySet,
    StdDev,
    Value,
    When,
)
from django.db.models.functions import NullIf
from django.db.models.lookups import LessThanOrEqual

from runs import metrics
from runs.compare.run_table.columns import RUN_COUNT, Column, Kind
from runs.compare.run_table.expressions import annotate_column, column_expression, flagged_runs
from runs.compare.run_table.group_steps import common_end_spreads, step_spreads
from runs.compare.run_table.paging import Order
from runs.compare.run_table.spreads import Spread
from runs.compare.run_table.step_values import MAX_STEP_RUNS, step_columns
from runs.metrics import Provenance
from runs.models import Run
from workers.executors.states import State

MAX_NUMBER_COLUMNS = 8
PARTIAL = Q(state=State.PARTIAL.value)
FACTS = "group_facts"
INFINITY = float("inf")


@dataclass(frozen=True)
class GroupRow:
    """A group: the values that its runs share, the number of runs, the newest run, and the group's numbers.

    partial: number of its runs that have only a part of their responses; the numbers leave these out.
    flagged: number of its runs that have an open flag; None if they were not counted.
    members: its runs that count in means, by id, if their points are to be read; None if they are too many.
    """

    values: tuple[Any, ...]
    n: int
    newest: int
    numbers: dict[str, Spread]
    partial: int = 0
    flagged: int | None = None
    members: tuple[int, ...] | None = None


def group_runs(
    runs: QuerySet[Run],
    by: Sequence[Column],
    numbers: Sequence[Column],
    size: int,
    *,
    order: Order | None = None,
    with_flags: bool = False,
) -> tuple[list[GroupRow], int]:
    """Return the first `size` groups, and the number of all groups. Two queries; three with held-out values, and two
    more with values at a step.

    The last values of a group are those at the last step that all of its runs have; the points of groups whose runs
    end at different steps are read for that, with one more query.

    order: by the mean of one of the numbers, or by any other column for the number of runs; the largest first if None.
    By a last value, the groups of the page are chosen by the runs' own last values, and then sorted by what they show.
    with_flags: also count the runs with an open flag.
    """
    numbers = numbers[:MAX_NUMBER_COLUMNS]
    stored = [column for column in numbers if column.kind is not Kind.STEP_VALUE]
    mixed = _measured_differently(runs, stored)
    names = [f"by_{i}" for i in range(len(by))]
    groups = _with_values(runs, by, stored, mixed).order_by().values(*names)
    total = groups.distinct().count()
    groups = groups.annotate(n=Count("pk"), newest=Max("pk"), partial=Count("pk", filter=PARTIAL))
    if with_flags:
        groups = groups.annotate(flagged=Count("pk", filter=Q(pk__in=flagged_runs())))
    if step_columns(numbers) or any(map(_is_last_value, stored)):
        groups = groups.annotate(members=_members())
    groups = _with_spreads(groups, stored, mixed)
    rows = [_row(row, names, stored) for row in groups.order_by(*_ordering(order, stored, mixed))[:size]]
    return _sorted(_with_step_values(_with_common_ends(rows, stored), numbers), order, stored), total


def _measured_differently(runs: QuerySet[Run], numbers: Collection[Column]) -> dict[Column, list[list[Any]]]:
    """Return the columns in which these runs were measured differently, with the facts of each way; few tables have
    any."""
    held_out = [column for column in numbers if column.is_held_out]
    if not held_out:
        return {}
    facts = list(runs.order_by().annotate(facts=metrics.facts_expression()).values_list("facts", flat=True).distinct())
    facts_by_way = {column: _by_way(column, facts) for column in held_out}
    return {column: ways for column, ways in facts_by_way.items() if len(ways) > 1}


def _by_way(column: Column, facts: Collection[Any]) -> list[list[Any]]:
    ways: dict[Provenance | None, list[Any]] = {}
    for row_facts in facts:
        ways.setdefault(metrics.provenance_of_facts(row_facts, column.metric), []).append(row_facts)
    return list(ways.values())


def _with_values(
    runs: QuerySet[Run], by: Sequence[Column], numbers: Sequence[Column], mixed: Collection[Column]
) -> QuerySet[Run]:
    """Annotate the runs with the values that groups share, with the numbers, and with facts if columns are mixed."""
    for i, column in enumerate(by):
        # A config's long text is compared as a whole.
        is_config = column.kind is Kind.CONFIG
        runs = (
            runs.annotate(**{f"by_{i}": column_expression(column)})
            if is_config
            else annotate_column(runs, column, f"by_{i}")
        )
    for i, column in enumerate(numbers):
        is_last = _is_last_value(column)
        runs = _with_last_value(runs, column, i) if is_last else annotate_column(runs, column, f"number_{i}")
    return runs.annotate(**{FACTS: metrics.facts_expression()}) if mixed else runs


def _is_last_value(column: Column) -> bool:
    return column.kind is Kind.METRIC and column.summary == "last_value"


def _with_last_value(runs: QuerySet[Run], column: Column, i: int) -> QuerySet[Run]:
    """Annotate the runs with the finite last value of a metric, with its step, and with 1 if it is not finite."""
    row = f"last_{i}"
    is_finite = Q(**{f"{row}__last_value__gt": -INFINITY, f"{row}__last_value__lt": INFINITY})
    runs = runs.annotate(**{row: FilteredRelation("series", condition=Q(series__key=column.metric))})
    return runs.annotate(**{
        f"number_{i}": Case(When(is_finite, then=F(f"{row}__last_value"))), f"step_{i}": F(f"{row}__last_step"),
        f"unusable_{i}": Case(When(Q(**{f"{row}__last_value__isnull": False}) & ~is_finite, then=Value(1))),
    })  # fmt: skip


def _with_spreads(groups: Any, numbers: Sequence[Column], mixed: Mapping[Column, Sequence[Any]]) -> Any:
    """Annotate the groups with n, mean and deviation of each number, and with the measurements of mixed columns."""
    for i, column in enumerate(numbers):
        # Runs that have not started have no time, which the database stores as 0.
        value = NullIf(F(f"number_{i}"), Value(0.0)) if column.key == "time" else F(f"number_{i}")
        # A single value has no deviation: PostgreSQL returns NULL.
        groups = groups.annotate(**{
            f"mean_{i}": Avg(value, filter=~PARTIAL), f"sd_{i}": StdDev(value, sample=True, filter=~PARTIAL),
            f"n_{i}": Count(value, filter=~PARTIAL),
        })  # fmt: skip
        if _is_last_value(column):
            groups = groups.annotate(**{
                f"first_end_{i}": Min(f"step_{i}", filter=~PARTIAL), f"last_end_{i}": Max(f"step_{i}", filter=~PARTIAL),
                f"endless_{i}": Count(f"unusable_{i}", filter=~PARTIAL),
            })  # fmt: skip
        if column in mixed:
            has_value = ~PARTIAL & Q(**{f"number_{i}__isnull": False})
            way = Case(*(When(**{f"{FACTS}__in": facts}, then=Value(k)) for k, facts in enumerate(mixed[column])))
            groups = groups.annotate(**{
                f"facts_{i}": ArrayAgg(FACTS, distinct=True, filter=has_value, default=[]),
                f"ways_{i}": Count(way, distinct=True, filter=has_value),
            })  # fmt: skip
            groups = groups.annotate(**{f"rank_{i}": Case(When(**{f"ways_{i}": 1}, then=F(f"mean_{i}")))})
    return groups


def _ordering(order: Order | None, numbers: Sequence[Column], mixed: Collection[Column]) -> list[Any]:
    """Return the order of the groups. Those without a mean come last, then the largest and the newest first."""
    if order is None or order.column not in (RUN_COUNT, *numbers):
        return ["-n", "-newest"]
    if order.column == RUN_COUNT:
        return ["-n" if order.descending else "n", "-newest"]
    key = F(f"{'rank' if order.column in mixed else 'mean'}_{numbers.index(order.column)}")
    sorted_key = key.desc(nulls_last=True) if order.descending else key.asc(nulls_last=True)
    return [sorted_key, "-n", "-newest"]


def _members() -> Case:
    """Return the runs of a group that count in means, NULL if they are too many to read their points."""
    is_few = LessThanOrEqual(Count("pk"), Value(MAX_STEP_RUNS))
    members = ArrayAgg("pk", filter=~PARTIAL, default=[])
    return Case(When(is_few, then=members), output_field=ArrayField(BigIntegerField()))


def _row(row: dict[str, Any], names: list[str], numbers: Sequence[Column]) -> GroupRow:
    spreads = {}
    for i, column in enumerate(numbers):
        facts = row.get(f"facts_{i}", [])
        ways = metrics.ways(metrics.provenance_of_facts(row_facts, column.metric) for row_facts in facts)
        is_mixed = len(ways) > 1
        spread = (None, None, ways) if is_mixed else (row[f"mean_{i}"], row[f"sd_{i}"])
        first, last = row.get(f"first_end_{i}"), row.get(f"last_end_{i}")
        is_uneven = first is not None and last is not None and (first < last or row[f"endless_{i}"] > 0)
        steps = {"last_steps": (first, last)} if is_uneven else {"step": first}
        spreads[column.key] = replace(Spread(row[f"n_{i}"], *spread), **steps)
    values, members = tuple(row[name] for name in names), row.get("members")
    return GroupRow(values, row["n"], row["newest"], spreads, row["partial"], row.get("flagged"), members)


def _with_common_ends(rows: list[GroupRow], numbers: Sequence[Column]) -> list[GroupRow]:
    """Return the rows with the values of groups whose runs end at different steps at the last step that all have."""
    uneven = [
        (place, column)
        for place, row in enumerate(rows)
        for column in numbers
        if row.numbers[column.key].last_steps is not None
    ]
    spreads = common_end_spreads(
        [(rows[k].members, column.metric, rows[k].numbers[column.key]) for k, column in uneven]
    )
    replaced: dict[int, dict[str, Spread]] = {}
    for (place, column), spread in zip(uneven, spreads, strict=True):
        replaced.setdefault(place, {})[column.key] = spread
    return [replace(row, numbers=row.numbers | replaced.get(place, {})) for place, row in enumerate(rows)]


def _sorted(rows: list[GroupRow], order: Order | None, numbers: Sequence[Column]) -> list[GroupRow]:
    """Return the rows sorted by the means that they show, if a last value sorts them; groups without one come last."""
    if order is None or order.column not in numbers or not _is_last_value(order.column):
        return rows
    sign, key = (-1.0 if order.descending else 1.0), order.column.key
    means = [row.numbers[key].mean for row in rows]
    places = sorted(range(len(rows)), key=lambda place: (means[place] is None, sign * (means[place] or 0.0)))
    return [rows[place] for place in places]


def _with_step_values(rows: list[GroupRow], numbers: Sequence[Column]) -> list[GroupRow]:
    """Return the rows with the numbers at steps too, in the order of the columns."""
    columns = step_columns(numbers)
    if not columns:
        return rows
    spreads = step_spreads([row.members for row in rows], columns)
    return [
        replace(row, numbers={column.key: (row.numbers | at_steps)[column.key] for column in numbers})
        for row, at_steps in zip(rows, spreads, strict=True)
    ]
