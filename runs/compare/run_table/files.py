"""Content of a runs table as columns and rows of a file: every digit for CSV, what the page shows for LaTeX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, ngettext

from runs.charts import MEASURED
from runs.compare.run_table.columns import Column, Kind
from runs.compare.run_table.rows import Cell as RunCell
from runs.compare.run_table.rows import Row
from runs.compare.run_table.spreads import CI, SE, SPREADS, STD, Spread
from runs.compare.run_table.table import GroupTableRow, RunsTable
from runs.tables import Cell, Mean, Table
from runs.tables import Column as TableColumn

WIDTH_NAMES = {STD: "std", SE: "se", CI: "ci95"}
DIFFERENCE = "difference"
ENDS = ("n", "step", MEASURED)
"""Ends of the heads of a number of groups after its mean and widths."""


def data_table(table: RunsTable) -> Table:
    """Return the table for programs: keys as heads, full digits, and the measurement of each held-out value."""
    if table.query.group:
        numbers = [heading.column for heading in table.headings[len(table.query.group) :]]
        heads = [f"{column.key} {end}" for column in numbers for end in ("mean", *WIDTH_NAMES.values(), *ENDS)]
        keys = [column.key for column in table.query.group]
        return Table((*keys, "runs", *heads), tuple(_group_data(group, numbers) for group in table.groups))
    columns, has_pin = table.query.columns, table.pinned is not None
    heads = [f"{column.key}{end}" for column in columns for end in _ends(column, has_pin=has_pin)]
    return Table(("uid", "name", *heads), tuple(_run_data(row, has_pin=has_pin) for row in _rows(table)))


def paper_table(table: RunsTable) -> Table:
    """Return the table for papers: the displayed columns with their titles; groups with the chosen spread."""
    if table.query.group:
        return _paper_groups(table)
    columns = table.query.columns
    heads = (gettext("Run"), *(column.title for column in columns))
    rows = [(row.run.name, *(_plain(cell) for cell in row.cells)) for row in _rows(table)]
    return Table(heads, tuple(rows))


def notes(table: RunsTable, experiment: str) -> list[str]:
    """Return the lines of a comment that says where a table's numbers come from."""
    parameters = ((name, value) for name, values in table.query.parameters.lists() for value in values)
    query = " ".join(f"{name}={value}" for name, value in parameters if value and name not in ("as", "after"))
    shown, total = len(_rows(table)) if not table.query.group else len(table.groups), table.total
    counted = ngettext("%(shown)s of %(total)s row.", "%(shown)s of %(total)s rows.", total)
    lines = [f"esweb, {experiment}: {query or gettext('all runs')}", counted % {"shown": shown, "total": total}]
    if table.query.group:
        lines.append(table.query.spread_words)
        lines += [gettext("%(key)s: at the last step that all runs of a group have.") % {"key": key}
                  for key in _uneven_keys(table)]  # fmt: skip
    lines += [gettext("%(key)s: measured differently.") % {"key": heading.column.key} for heading in table.differing]
    return lines


def _uneven_keys(table: RunsTable) -> list[str]:
    """Return the keys of the numbers of which the runs of a group end at different steps."""
    return list(dict.fromkeys(
        key for group in table.groups for key, spread in group.row.numbers.items() if spread.last_steps is not None
    ))  # fmt: skip


def _rows(table: RunsTable) -> list[Row]:
    """Return the rows of runs, the pinned one first."""
    return [table.pinned, *table.rows] if table.pinned else table.rows


def _ends(column: Column, *, has_pin: bool) -> list[str]:
    """Return what follows the column's key in the heads of its value, measurement and difference."""
    measured = [f" {MEASURED}"] if column.is_held_out else []
    return ["", *measured, *([f" {DIFFERENCE}"] if has_pin and column.is_measured else [])]


def _run_data(row: Row, *, has_pin: bool) -> tuple[Cell, ...]:
    return (row.run.uid, row.run.name, *(value for cell in row.cells for value in _cell_data(cell, has_pin=has_pin)))


def _cell_data(cell: RunCell, *, has_pin: bool) -> list[Cell]:
    measured: list[Cell] = [cell.measured] if cell.column.is_held_out else []
    gap: list[Cell] = [cell.gap.difference if cell.gap else None] if has_pin and cell.column.is_measured else []
    return [_plain(cell), *measured, *gap]


def _group_data(group: GroupTableRow, numbers: Sequence[Column]) -> tuple[Cell, ...]:
    spreads = (group.row.numbers[column.key] for column in numbers)
    cells = (value for spread in spreads for value in _spread_data(spread))
    return (*(_json_text(value) for value in group.row.values), group.row.n, *cells)


def _spread_data(spread: Spread) -> list[Cell]:
    widths = [spread.width(name) for name in SPREADS]
    ways = "; ".join(way.text for way in spread.ways)
    return [spread.mean, *widths, None if spread.is_unread else spread.n, spread.step, ways or None]


def _paper_groups(table: RunsTable) -> Table:
    columns, spread = table.query.group, table.query.spread
    numbers = [heading.column for heading in table.headings[len(columns) :]]
    heads = (*(column.title for column in columns), gettext("Runs"))
    rows: list[tuple[Cell, ...]] = [
        (*group.names, group.row.n, *(_mean(group.row.numbers[column.key], spread) for column in numbers))
        for group in table.groups
    ]
    return Table((*heads, *(TableColumn(column.title, kind=Mean) for column in numbers)), tuple(rows))


def _mean(spread: Spread, kind: str) -> Mean:
    return Mean(spread.mean, spread.width(kind), None if spread.is_unread else spread.n)


def _plain(cell: RunCell) -> Cell:
    """Return a cell's value as text or number."""
    if cell.value is None:
        return None
    if cell.column.kind is Kind.TAGS:
        return ", ".join(cell.value)
    if cell.column.kind is Kind.FLAGS:
        return ", ".join(flag.detector for flag in cell.value)
    return _json_text(cell.value)


def _json_text(value: Any) -> Cell:
    """Return a value of a config as it is written there; a time in ISO form, and a text or number as it is."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value if value is None or isinstance(value, str | int | float) else str(value)
