"""Headings of a runs table: what a click on them sorts by, and the mark of columns that were measured differently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runs import metrics
from runs.compare.run_table.columns import NAME, RUN_COUNT, Column, Kind
from runs.compare.run_table.paging import GAP
from runs.compare.run_table.rows import Row
from runs.compare.run_table.table_query import TableQuery
from runs.metrics import Provenance


@dataclass(frozen=True)
class Heading:
    """The heading of a column: the address that a click requests, and the current sort direction.

    ways: measurement of the values below it, if they were measured in several ways. gap_address: the address that sorts
    by the difference from the pinned run, and gap_sorted the direction if the table is sorted so.
    """

    column: Column
    address: str
    sorted: str
    ways: tuple[Provenance, ...] = ()
    gap_address: str = ""
    gap_sorted: str = ""


def column_headings(query: TableQuery, rows: Sequence[Row]) -> list[Heading]:
    """Return the headings of the run's name and of each column, above these rows."""
    columns = zip(*(row.cells for row in rows), strict=True)
    ways = [_several(cell.measured for cell in cells) for cells in columns] or [()] * len(query.columns)
    marked = [
        replace(_heading(query, column), ways=several) for column, several in zip(query.columns, ways, strict=True)
    ]
    return [_heading(query, NAME), *marked]


def number_heading(query: TableQuery, column: Column, ways: Iterable[Provenance]) -> Heading:
    """Return the heading of a number of groups, by whose mean they can be sorted if the database knows it. A click
    shows the largest first."""
    several = _several(ways)
    if column.kind is Kind.STEP_VALUE:
        return Heading(column, "", "", several)
    return Heading(column, *_group_sort(query, column, is_sorted=_is_sorted(query, column)), several)


def count_heading_of(query: TableQuery, *, is_default: bool) -> Heading:
    """Return the heading of the number of a group's runs. is_default: whether the largest groups are first because no
    other order applies."""
    return Heading(RUN_COUNT, *_group_sort(query, RUN_COUNT, is_sorted=is_default or _is_sorted(query, RUN_COUNT)))


def _group_sort(query: TableQuery, column: Column, *, is_sorted: bool) -> tuple[str, str]:
    """Return the address of a click, and the current direction."""
    is_descending = not _is_sorted(query, column) or query.order.descending
    address = query.address(sort=f"{'' if is_sorted and is_descending else '-'}{column.key}")
    return address, ("descending" if is_descending else "ascending") if is_sorted else ""


def _is_sorted(query: TableQuery, column: Column) -> bool:
    return query.order.gap is None and query.order.column.key == column.key


def _heading(query: TableQuery, column: Column) -> Heading:
    gap_address, gap_sorted = _gap_sort(query, column)
    if not column.is_sortable:
        return Heading(column, "", "")
    is_sorted = _is_sorted(query, column)
    descending = is_sorted and not query.order.descending
    address = query.address(sort=f"{'-' * descending}{column.key}")
    return Heading(column, address, _direction(query) if is_sorted else "", (), gap_address, gap_sorted)


def _gap_sort(query: TableQuery, column: Column) -> tuple[str, str]:
    """Return the address of a click on Δ, and the current direction; two empty texts if no run is pinned."""
    if not query.pin or not column.is_measured:
        return "", ""
    is_sorted = query.order.gap is not None and query.order.column.key == column.key
    is_ascending_next = is_sorted and query.order.descending
    address = query.address(sort=f"{'' if is_ascending_next else '-'}{GAP}{column.key}")
    return address, _direction(query) if is_sorted else ""


def _direction(query: TableQuery) -> str:
    return "descending" if query.order.descending else "ascending"


def _several(measured: Iterable[Provenance | None]) -> tuple[Provenance, ...]:
    """Return the ways in which values were measured, nothing if all were measured alike."""
    ways = metrics.ways(measured)
    return ways if len(ways) > 1 else ()
