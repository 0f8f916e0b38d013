"""Rows of runs with the headline metrics of their tasks, for the tables of home and the list of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.compare.run_table import Cell, Column, Row, Vocabulary, rows_of
from runs.metrics import HEADLINE_KEYS, has_headline_metric, resolve_fallbacks
from runs.models import Run
from workers.analysis.keys import KL, REWARD

TASK_KEYS = tuple(key for key in HEADLINE_KEYS if key not in (REWARD, KL))
TASK_COLUMNS = tuple(filter(None, map(Vocabulary(()).column, TASK_KEYS)))


@dataclass(frozen=True)
class ResultRow(Row):
    """A run's row, and the measured cells of its task's headline metrics other than the reward and the KL."""

    task_cells: Sequence[Cell]

    @property
    def headline_cells(self) -> list[Cell]:
        """Return the cell of the reward and those of its task's headline metrics, without the KL."""
        return [*(cell for cell in self.cells if cell.column.key == REWARD), *self.task_cells]


def result_rows(runs: Sequence[Run], columns: Sequence[Column]) -> list[ResultRow]:
    """Return the rows of these runs with these columns. As many queries as `rows_of` takes."""
    n = len(columns)
    return [_result_row(row, row.cells[:n], row.cells[n:]) for row in rows_of(runs, (*columns, *TASK_COLUMNS))]


def _result_row(row: Row, cells: list[Cell], task_cells: Sequence[Cell]) -> ResultRow:
    measured = [cell for cell in task_cells if cell.value is not None]
    keys = [cell.column.key for cell in measured]
    shown = set(resolve_fallbacks(keys, keys))
    own = [
        cell for cell in measured if cell.column.key in shown and has_headline_metric(row.run.config, cell.column.key)
    ]
    return ResultRow(row.run, row.reason, cells, own)
