"""Split a table into records: CSV with a heading, whose quoted cells may have line breaks, and JSON lines."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from runs.importing.decimal_signs import is_numeral
from runs.importing.numbers import parse_number
from runs.importing.records import ImportReport
from runs.importing.steps import STEP_NAMES, stated_step
from runs.importing.text import Line, lines
from runs.ingest import MAX_KEY
from workers.config.shallow_json import loads

DELIMITERS = (",", "\t", ";")
DELIMITER_HINT = re.compile(r"sep=([,;\t])", re.IGNORECASE)
"""The line that Excel reads, and writes, before a heading."""
HEAD = 256 * 1024
"""Bytes in which a heading must end."""
MAX_DEPTH = 4
MAX_RECORD_LENGTH = 4 * 1024 * 1024
MAX_CELL_LENGTH = csv.field_size_limit()
RUN_SEPARATOR = " - "
"""Sign between the run and the metric in a heading of W&B's charts."""
JSON_LINES = "{"


@dataclass(frozen=True)
class Layout:
    """The delimiter and the columns of a table; JSON_LINES and no columns for JSON lines."""

    delimiter: str
    columns: tuple[str, ...] = ()
    heading_lines: int = 0
    """Number of lines up to the end of the heading, without blank ones that were skipped."""


@dataclass(frozen=True)
class Record:
    """A record that begins on a line, with its cells by their columns: texts, or scalars and lists of JSON."""

    line: int
    cells: Mapping[str, Any]


def find_layout(head: bytes) -> Layout | None:
    """Return the layout of a table that begins with these bytes; None if they begin no table with a step."""
    texts = ((count, line.text.strip()) for count, line in enumerate(lines(io.BytesIO(head), ImportReport()), 1))
    count, first = next(((count, text) for count, text in texts if text), (0, ""))
    if not first:
        return None
    if first.startswith("{"):
        return Layout(JSON_LINES)
    hint = DELIMITER_HINT.fullmatch(first)
    for delimiter in (hint[1],) if hint else DELIMITERS:
        rows = Lines(lines(io.BytesIO(head), ImportReport()), skip=count if hint else 0)
        heading = next(filter(None, _csv_rows(rows, delimiter, ImportReport())), [])
        names = [cell.strip() or (f"column {n}" if n > 1 else "") for n, cell in enumerate(heading, 1)]
        columns = _distinct_columns(names)
        if any(names_step(column) for column in columns):
            return Layout(delimiter, tuple(columns), rows.count) if len(set(columns)) == len(columns) > 1 else None
    return None


def names_step(column: str) -> bool:
    """Return whether a column, or its metric in a heading of W&B's charts, has a name of steps."""
    return column.lower() in STEP_NAMES or column.rpartition(RUN_SEPARATOR)[2].lower() in STEP_NAMES


def records(file: BinaryIO, layout: Layout, report: ImportReport) -> Iterator[Record]:
    """Yield the records of a file, from its beginning on. What is no record goes into the report."""
    file_lines = lines(file, report)
    if layout.delimiter == JSON_LINES:
        yield from _json_records(file_lines, report)
        return
    rows = Lines(file_lines, skip=layout.heading_lines)
    for cells in _csv_rows(rows, layout.delimiter, report):
        if not any(map(str.strip, cells)):
            continue
        while len(cells) > len(layout.columns) and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(layout.columns):
            position = f"line {rows.first}" if rows.last == rows.first else f"lines {rows.first} to {rows.last}"
            report.add_remark(position, f"has {len(cells)} cells for {len(layout.columns)} columns: omitted")
            continue
        if not rows.is_whole:
            report.facts.append("its last line has no line end: its last number was read as it is")
        yield Record(rows.first, dict(zip(layout.columns, cells, strict=True)))


class Lines:
    """Iterator over the lines of a file for `csv.reader`, which reads as many as a record has.

    `first` and `last` number the lines of the current record, `count` counts the lines so far. `is_over`: more lines
    were requested than there are.
    """

    def __init__(self, file_lines: Iterator[Line], *, skip: int = 0) -> None:
        self._lines, self._skip = file_lines, skip
        self.first = self.last = self.count = self._quotes = self._length = 0
        self.is_over, self.is_whole = False, True

    def begin_record(self) -> None:
        """Start counting anew."""
        self.first = self._quotes = self._length = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        while line is not None and self.count < self._skip:
            self.count += 1
            line = next(self._lines, None)
        if line is None:
            self.is_over = True
            raise StopIteration
        self.count += 1
        # All lines of a file with old Macs' line ends have the same number.
        number = max(line.number, self.count)
        self.first, self.last, self.is_whole = self.first or number, number, line.is_whole
        self._quotes += line.text.count('"')
        self._length += len(line.text)
        if self._length > MAX_RECORD_LENGTH:
            raise csv.Error("a record of this length is not read")
        return f"{line.text}\n"

    def skip_quoted_cell(self) -> None:
        """Read up to the line in which a quoted cell ends that is not read."""
        while self._quotes % 2:
            self._length = 0
            if next(self, None) is None:
                return


def _csv_rows(rows: Lines, delimiter: str, report: ImportReport) -> Iterator[list[str]]:
    """Yield the cells of each record. A last record whose quoted cell does not end was cut off, and is left out."""
    reader = csv.reader(rows, delimiter=delimiter)
    while True:
        rows.begin_record()
        try:
            cells = next(reader, None)
        except csv.Error:
            rows.skip_quoted_cell()
            reason = f"has a cell of more than {MAX_CELL_LENGTH} characters, or a quote without an end"
            report.add_line_remark(rows.first, f"{reason}: omitted up to line {rows.last}")
            continue
        if cells is None:
            return
        if rows.is_over:
            count = rows.last - rows.first + 1
            reason = f"a quoted cell begins here and does not end: omitted, with the {count} lines up to the file's end"
            report.add_line_remark(rows.first, reason if count > 1 else "its quoted cell does not end: omitted")
            return
        yield cells


def _json_records(file_lines: Iterator[Line], report: ImportReport) -> Iterator[Record]:
    for line in file_lines:
        if not line.text.strip():
            continue
        value = parse_object(line.text)
        if value:
            yield Record(line.number, flatten(value))
        else:
            report.add_line_remark(line.number, "is not a JSON object, or is cut off: omitted")


def states_numbers(record: Record) -> bool:
    """Return whether a record states a step and a number besides."""
    stated = stated_step(record.cells)
    others = [cell for name, cell in record.cells.items() if stated is not None and name != stated[0]]
    texts = [cell for cell in others if isinstance(cell, str)]
    has_number = any(isinstance(cell, int | float) for cell in others)
    return has_number or any(is_numeral(text) or parse_number(text) is not None for text in texts)


def parse_object(text: str) -> dict[str, Any]:
    """Return a JSON object; an empty one if the text is none."""
    try:
        value = loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def flatten(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return every value by its name; one within objects by its path, such as `loss/policy`."""
    cells: dict[str, Any] = {}
    for name, value in values.items():
        key = prefix + name.strip()
        if isinstance(value, Mapping) and depth < MAX_DEPTH and len(key) <= MAX_KEY:
            cells |= flatten(value, f"{key}/", depth + 1)
        else:
            cells[key] = value
    return cells


def _distinct_columns(columns: Sequence[str]) -> list[str]:
    """Number the runs of one name in a heading of W&B's charts. Other columns of one name stay as they are."""
    counts, distinct = Counter[str](), list[str]()
    for column in columns:
        run, separator, metric = column.rpartition(RUN_SEPARATOR)
        counts[column] += 1
        is_repeated = bool(separator) and counts[column] > 1
        distinct.append(f"{run} ({counts[column]}){separator}{metric}" if is_repeated else column)
    return distinct
