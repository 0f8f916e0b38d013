"""The pinned run of a table: the differences of other runs' values from its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from runs import metrics
from runs.compare.run_table.columns import Column
from runs.compare.run_table.gap_order import GapOrigin
from runs.compare.run_table.orders import NEWEST_FIRST
from runs.compare.run_table.rows import Cell, Gap, Row, rows_of
from runs.compare.run_table.table_query import TableQuery
from runs.http import warn
from runs.models import Run

MAX_UID_LENGTH = 20


def find_pinned(request: HttpRequest, runs: QuerySet[Run], query: TableQuery) -> Run | None:
    """Return the pinned run, or None if the address pins none. Warn if it is not one of these runs. One query."""
    if not query.pin:
        return None
    run = metrics.with_origins(runs).filter(uid=query.pin).first()
    if run is None:
        message = gettext("This experiment has no run %(uid)s to pin: showing the table without it.")
        warn(request, message % {"uid": query.pin[:MAX_UID_LENGTH]})
    return run


def resolve_pin(query: TableQuery, runs: QuerySet[Run], pinned: Run | None) -> TableQuery:
    """Return the query of a table with this pinned run: an order by differences gets the run's value.

    Without a pinned run, the query loses its pin and gives way to the newest first if it sorts by differences.
    """
    is_by_gap = query.order.gap is not None
    if pinned is not None and is_by_gap:
        column = query.order.column
        ((cell,),) = (row.cells for row in rows_of([pinned], [column]))
        return replace(query, order=replace(query.order, gap=gap_origin(runs, column, cell)))
    if pinned is not None or not query.pin:
        return query
    parameters = query.parameters.copy()
    for name in ("pin", "sort", "after")[: 3 if is_by_gap else 1]:
        parameters.pop(name, None)
    query = replace(query, pin="", parameters=parameters)
    return replace(query, order=NEWEST_FIRST, after=None) if is_by_gap else query


def with_gaps(rows: Sequence[Row], pinned: Row) -> list[Row]:
    """Return the rows; each cell of a measured column holds its difference from the pinned run's."""
    return [
        replace(row, cells=[_with_gap(*pair) for pair in zip(row.cells, pinned.cells, strict=True)]) for row in rows
    ]


def _with_gap(cell: Cell, origin: Cell) -> Cell:
    if not cell.column.is_measured or not _is_finite(cell.value) or not _is_finite(origin.value):
        return cell
    if cell.measured != origin.measured:
        return replace(cell, gap=Gap(None))
    return replace(cell, gap=Gap(cell.value - origin.value, cell.column.good_direction))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def gap_origin(runs: QuerySet[Run], column: Column, cell: Cell) -> GapOrigin:
    """Return the origin of the runs' differences in a column. `cell` is the pinned run's. One query for held-out
    metrics."""
    if not _is_finite(cell.value):
        return GapOrigin(None)
    if cell.measured is None:
        return GapOrigin(cell.value)
    facts = list(runs.order_by().annotate(facts=metrics.facts_expression()).values_list("facts", flat=True).distinct())
    alike = [row for row in facts if metrics.provenance_of_facts(row, column.metric) == cell.measured]
    return GapOrigin(cell.value, None if len(alike) == len(facts) else tuple(alike))
