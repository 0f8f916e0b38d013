"""Read tables of numbers by step: CSV with a heading, and JSON lines. The method is unknown unless the table names it.

A table does not state what its columns measure, so each column retains its own name. It is read twice: all of its rows
decide how its numbers are written, which column holds the steps, and which columns tell runs apart.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO, cast

from runs.importing.numbers import json_number
from runs.importing.readers.table_columns import HIGH, LOW, hyperparameter_of
from runs.importing.readers.table_records import HEAD, JSON_LINES, Record, find_layout, records, states_numbers
from runs.importing.readers.table_runs import RunBuffer, TableRun, make_name_distinct, new_run
from runs.importing.readers.table_separation import separation_fact
from runs.importing.readers.table_survey import RunKey, Survey, TableRow, is_blank, survey_of
from runs.importing.readers.timestamps import parse_timestamp
from runs.importing.records import Entry, ImportReport
from runs.importing.steps import StatedStep, parse_step, stated_step, whole_number
from runs.importing.vocabulary import is_usable
from workers.records import Metric

KIND = "table of steps"
REPEATS = "both are saved; if the rows are those of several runs, name these in a column run"
MAX_FIRST_RECORDS = 20
"""Records of a CSV file of which one states a step, if it is a table of steps."""


def is_table(head: bytes) -> bool:
    """Return whether a file that begins with these whole lines is a table of steps."""
    layout = find_layout(head)
    if layout is None:
        return False
    first = list(islice(records(io.BytesIO(head), layout, ImportReport()), MAX_FIRST_RECORDS))
    if layout.delimiter != JSON_LINES:
        survey = Survey(layout)
        return any(stated_step(row.cells) is not None for record in first for row in survey.rows(record))
    line_numbers = [number for number, line in enumerate(head.split(b"\n"), 1) if line.strip()][:2]
    return [record.line for record in first[:2]] == line_numbers and all(map(states_numbers, first[:2]))


def entries(file: BinaryIO, name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the numbers of each row, run by run. A step that goes back begins a new epoch of its run."""
    opened = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    start = opened.tell()
    layout = find_layout(opened.read(HEAD))
    if layout is None:
        return
    survey = survey_of(opened, start, layout)
    if separating := survey.separating_columns():
        survey = survey_of(opened, start, layout, separating)
        report.facts.append(separation_fact(separating))
    opened.seek(start)
    yield from _Table(survey, name, report).entries(records(opened, layout, report))


class _Table:
    """The second pass over a table."""

    def __init__(self, survey: Survey, name: str, report: ImportReport) -> None:
        self._survey, self._name, self._report = survey, name, report
        self._unread, self._unnamed = Counter[str](), Counter[str]()
        self._buffers: dict[RunKey, RunBuffer] = {}
        self._names = set[str]()
        self._has_repeats = False
        self._is_series: dict[str, bool] = {}
        self._hyperparameters: dict[str, str] = {}

    def entries(self, table_records: Iterator[Record]) -> Iterator[Entry]:
        """Yield the entries: at once if the table has one run, otherwise run by run after all rows are read."""
        rows = (row for record in table_records for row in self._survey.rows(record))
        if self._survey.has_several_runs:
            self._read_all(rows)
            for buffer in self._buffers.values():
                yield from buffer.entries(self._report, is_long=self._survey.is_long)
            self._report_columns()
            return
        table_run = self._new_run(())
        for row in rows:
            step = self._step(row)
            if step is None:
                continue
            values = self._numbers(row, table_run)
            epoch = table_run.epoch(step)
            self._compare(table_run, step.step, values, row.line)
            table_run.has_values |= bool(values)
            if values:
                yield Entry(table_run.run, Metric(step.step, values), self._at(row, table_run), epoch)
        is_run = table_run.finish(self._report)
        self._report_columns()
        if is_run:
            yield Entry(table_run.run)

    def _read_all(self, rows: Iterator[TableRow]) -> None:
        for row in rows:
            step = self._step(row)
            if step is None:
                continue
            buffer = self._buffer(row)
            values = self._numbers(row, buffer.table_run)
            series = self._survey.series_of(row.cells)
            if self._survey.metric or series:
                values = self._long_values(row, series, values)
            epoch = buffer.table_run.epoch(step, series)
            self._compare(buffer.table_run, step.step, values, row.line)
            if values:
                buffer.add(step.step, epoch, self._at(row, buffer.table_run), values)

    # Runs -------------------------------------------------------------------------------------------------------

    def _buffer(self, row: TableRow) -> RunBuffer:
        key = (row.chart_run, *self._survey.run_key(row.cells))
        if key not in self._buffers:
            self._buffers[key] = RunBuffer(self._new_run(key[1:], row.chart_run))
        return self._buffers[key]

    def _new_run(self, key: RunKey, chart_run: str = "") -> TableRun:
        identity = self._survey.identities.get(key, {})
        table_run = new_run(len(self._buffers), KIND, self._name, identity, chart_run, self._survey.time)
        make_name_distinct(table_run.run, identity, self._names)
        return table_run

    # Cells ------------------------------------------------------------------------------------------------------

    def _step(self, row: TableRow) -> StatedStep | None:
        """Return the step of a row, and its total; None if the row states none, which the report has then."""
        cell = row.cells.get(self._survey.step)
        step = self._parse_step(self._survey.step, cell)
        if step is None:
            self._report.add_line_remark(row.line, "has no whole number as step: omitted")
            return None
        totals = (self._parse_step(column, row.cells.get(column)) for column in self._survey.totals)
        total = step.total or next((total.step for total in totals if total is not None), 0)
        return StatedStep(step.step, max(total, 0))

    def _parse_step(self, column: str, cell: Any) -> StatedStep | None:
        if not isinstance(cell, str) or "/" in cell:
            return parse_step(cell)
        step = whole_number(self._survey.signs.parse_whole(column, cell))
        return None if step is None else StatedStep(step)

    def _compare(self, table_run: TableRun, step: int, values: Mapping[str, float], line: int) -> None:
        """Report the first row that states a step again, with another number than the row before."""
        column = table_run.repeated_column(step, values)
        if column and not self._has_repeats:
            self._has_repeats = True
            self._report.add_line_remark(line, f"states step {step} again, with another number as {column}: {REPEATS}")

    def _at(self, row: TableRow, table_run: TableRun) -> float | None:
        """Return the seconds since the run began; None if the row states no time, and 0 if no row does."""
        survey, run = self._survey, table_run.run
        runtime = self._number(survey.runtime, row)
        if runtime is not None and not 0 <= runtime < float("inf"):
            runtime = None
        if not survey.time:
            run.seconds = max(run.seconds, runtime or 0.0)
            return runtime if survey.runtime else 0.0
        cell = row.cells.get(survey.time)
        number = self._number(survey.time, row)
        time = parse_timestamp(cell) if number is None and not is_blank(cell) else number
        if time is None:
            return runtime
        if run.started_at is None and runtime is not None:
            began = parse_timestamp(time - runtime)
            run.started_at = began
        at = table_run.clock.at(time, f"line {row.line}")
        return runtime if at is None else at

    def _number(self, column: str, row: TableRow) -> float | None:
        cell = row.cells.get(column)
        return self._survey.signs.parse(column, cell)[0] if isinstance(cell, str) else json_number(cell)

    def _numbers(self, row: TableRow, table_run: TableRun) -> dict[str, float]:
        """Return the numbers of a row by column. Other cells are named or counted."""
        values: dict[str, float] = {}
        for column, cell in row.cells.items():
            if not self._is_column_series(column) or is_blank(cell):
                continue
            number = self._cell(row, column, cell)
            if number is None:
                continue
            values[column] = number
            if column in self._hyperparameters:
                table_run.see_hyperparameter(self._hyperparameters[column], number)
        return values

    def _cell(self, row: TableRow, column: str, cell: Any) -> float | None:
        """Return the number in a cell; None if there is none, which is reported."""
        if isinstance(cell, bool):
            return float(cell)
        if not isinstance(cell, str):
            number = json_number(cell)
            self._unread.update([column] if number is None else ())
            return number
        number, reason = self._survey.signs.parse(column, cell)
        if number is None and "/" in cell and (stated := parse_step(cell)) is not None:
            return float(stated.step)
        if number is None and (reason or self._survey.signs.is_numeric(column) or self._may_be_number(column, cell)):
            heading = f"{row.chart_run} - {column}" if row.chart_run else column
            self._report.refuse_cell(row.line, heading, cell, *([reason] if reason else []))
        elif number is None:
            self._unread[column] += 1
        return number

    def _may_be_number(self, column: str, cell: str) -> bool:
        """Return whether a cell such as `62.5%` stands in a column of numbers, and is no sentence."""
        return self._survey.signs.has_numbers(column) and len(cell.split()) <= 2

    def _is_column_series(self, column: str) -> bool:
        if column not in self._is_series:
            survey = self._survey
            others = {
                survey.step,
                survey.time,
                survey.runtime,
                survey.metric,
                survey.split,
                *survey.totals,
                *survey.names,
            }
            others |= {f"{survey.step}{LOW}", f"{survey.step}{HIGH}"}
            is_named = bool(column) and column not in others
            self._is_series[column] = is_named and is_usable(column)
            if is_named and not is_usable(column):
                self._report.add_remark(f"column {column[:100]!r}", "cannot be the name of a series: omitted")
            if self._is_series[column] and (hyperparameter := hyperparameter_of(column)):
                self._hyperparameters[column] = hyperparameter
        return self._is_series[column]

    def _long_values(self, row: TableRow, series: str, values: Mapping[str, float]) -> dict[str, float]:
        """Return the values of a row that names what its column `value` measures."""
        named = {
            series if column == self._survey.value else f"{series}/{column}": value for column, value in values.items()
        }
        if values and not series:
            self._report.add_line_remark(row.line, f"has no name in column {self._survey.metric}: omitted")
        self._unnamed.update(name for name in named if series and not is_usable(name))
        return {name: value for name, value in named.items() if series and is_usable(name)}

    def _report_columns(self) -> None:
        for column, count in self._unread.most_common():
            rows = f"{count} row{'' if count == 1 else 's'}"
            self._report.add_remark(f"column {column[:100]}", f"contains no number in {rows}")
        for column, count in self._unnamed.most_common():
            self._report.add_remark(f"column {column[:100]!r}", f"cannot be the name of a series: {count} omitted")
        self._report.facts += self._survey.signs.facts()
