"""Final results and differences of configs as files: CSV with every digit, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs.charts import Mark, Table, marks
from runs.compare.baseline_table import BaselineRow, Cell
from runs.compare.charts import comparison_groups
from runs.compare.config_columns import ConfigColumn, config_columns
from runs.compare.config_diff import ConfigDiff, DiffCell, Difference
from runs.compare.options import ComparisonSettings, parse_settings
from runs.compare.page import load_config_diff
from runs.compare.results import Results, load_results
from runs.compare.selection import parse_whole_choice
from runs.http import SignedIn, UnknownChoice, require_choice, table_response
from runs.tables import Cell as TableCell
from runs.tables import Column, Mean

RESULT_COLUMNS = (
    "metric", "group", "runs", "baseline", Column("value", kind=Mean), "seeds", "step", "difference",
    "welch p", "permutation p", "measured",
)  # fmt: skip
"""step: that of the seeds' values. difference: from the baseline's mean, with the p-values of its tests."""


@require_safe
def compare_table(request: SignedIn) -> HttpResponse:
    """Return the table that `table` selects, of the compared runs, as the file that `as` selects. Raise
    UnknownChoice."""
    runs = parse_whole_choice(request).runs
    name = require_choice(request, "table", tuple(TABLES), next(iter(TABLES)))
    if not runs:
        raise UnknownChoice(gettext("Select runs by run, or an experiment with runs by experiment."))
    settings = parse_settings(request, runs)
    if settings.problems:
        raise UnknownChoice(" ".join(settings.problems))
    run_marks = marks(runs, comparison_groups(runs, settings))
    results = load_results(runs, run_marks, settings.baseline)
    if results is None:
        raise UnknownChoice(gettext("There are no runs to compare."))
    notes = (f"{len(runs)} runs: {', '.join(run.uid for run in runs)}", f"baseline: {results.baseline_uid}")
    return table_response(request, TABLES[name](run_marks, results, settings), f"comparison {name}", notes)


def results_table(results: Results) -> Table:
    """Return a row for each metric and group. Values that were not measured, or not alike, are empty."""
    by_outcome = zip(*(row.cells for row in results.rows), strict=True)
    letters = [" ".join(mark.letter for mark in own) for own in results.marks_by_group]
    rows = [
        _result_row(row, text, cell)
        for cells in by_outcome
        for row, text, cell in zip(results.rows, letters, cells, strict=True)
    ]
    return Table(RESULT_COLUMNS, tuple(rows))


def config_table(diff: ConfigDiff, columns: Sequence[ConfigColumn]) -> Table:
    """Return a row for each setting that the diff shows, with its values in each column as JSON."""
    heads = ("setting", *(f"{column.name} ({column.letters})" for column in columns))
    return Table(heads, tuple(_config_row(setting) for setting in diff.settings))


def _result_row(row: BaselineRow, letters: str, cell: Cell) -> tuple[TableCell, ...]:
    delta = cell.delta
    tested = (delta.difference, delta.welch, delta.permutation) if delta else (None, None, None)
    measured = "; ".join(way.text for way in cell.ways)
    return (
        cell.outcome.key, row.setting.name, letters, "baseline" if row.is_baseline else "",
        Mean(cell.mean, cell.std, cell.n), cell.seeds, cell.step, *tested, measured,
    )  # fmt: skip


def _config_row(setting: Difference) -> tuple[TableCell, ...]:
    return (setting.path, *(_values(cell) for cell in setting.cells))


def _values(cell: DiffCell) -> str | None:
    if cell.values == (None,):
        return None
    return ", ".join("" if value is None else value for value in cell.values)


def _config(run_marks: Sequence[Mark], results: Results, settings: ComparisonSettings) -> Table:
    diff = load_config_diff(run_marks, settings, results.baseline_uid)
    return config_table(diff, config_columns(diff, run_marks))


TABLES: dict[str, Callable[[Sequence[Mark], Results, ComparisonSettings], Table]] = {
    "results": lambda _, results, settings: results_table(results),
    "config": _config,
}
