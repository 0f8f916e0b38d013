"""Read tables of numbers by step: CSV with a heading, and JSON lines. The method is unknown unless the path names it.

A table does not state what its columns measure, so each column retains its own name.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.numbers import parse_number
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.text import BOM, Line, lines
from runs.importing.vocabulary import is_usable
from runs.ingest import MAX_KEY
from workers.config.shallow_json import loads
from workers.executors.states import State
from workers.records import Metric

KIND = "table of steps"
STEP_NAMES = ("step", "_step", "global_step", "train/global_step", "iteration", "iter")
"""Names of the column of steps, in any case; the first that a table has is taken."""
DELIMITERS = (",", "\t", ";")
MAX_DEPTH = 4
Row = tuple[int, Mapping[str, Any]]
"""(number of the line, column -> cell)."""


def is_table(first: bytes, second: bytes) -> bool:
    """Return whether a file with these two lines is a table of steps."""
    heading, row = (line.removeprefix(BOM).decode("utf-8", errors="replace") for line in (first, second))
    if heading.lstrip().startswith("{"):
        return all(_is_object_of_a_step(text) for text in (heading, row) if text)
    columns, delimiter = _heading(heading)
    cells = dict(zip(columns, _cells(row, delimiter), strict=False)) if columns else {}
    return len(columns) > 1 and _step(cells) is not None


def entries(file: BinaryIO, name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the numbers of each row. A step that goes back begins a new epoch: the run was started again."""
    run = ImportedRun(0, KIND, settings=settings_from_name(name), state=State.UNKNOWN)
    run.method, run.seed = str(run.settings.get("method") or ""), seed_of(run.settings)
    epoch, before, last, unread = 0, None, 0, Counter[str]()
    for at, cells in _rows(lines(file, report), report):
        step = _step(cells)
        if step is None:
            report.add_line_remark(at, "has no whole number as step: omitted")
            continue
        values, texts = _values(cells)
        unread.update(texts)
        epoch += int(before is not None and step < before)
        before, last = step, max(last, step)
        if values:
            yield Entry(run, Metric(step, values), 0.0, epoch)
    for column, count in unread.most_common():
        report.add_remark(f"column {column[:100]}", f"contains no number in {count} row{'' if count == 1 else 's'}")
    if before is not None:
        run.reason = f"Its rows end at step {last} and do not state how it ended"
        yield Entry(run)


def _rows(file_lines: Iterator[Line], report: ImportReport) -> Iterator[Row]:
    columns, delimiter = list[str](), ","
    for line in file_lines:
        if not line.text.strip():
            continue
        if line.text.lstrip().startswith("{"):
            if cells := _object(line.text):
                yield line.number, cells
            else:
                report.add_line_remark(line.number, "is not a JSON object, or is cut off: omitted")
        elif not columns:
            columns, delimiter = _heading(line.text)
        else:
            yield from _row(line, columns, delimiter, report)


def _row(line: Line, columns: Sequence[str], delimiter: str, report: ImportReport) -> Iterator[Row]:
    cells = _cells(line.text, delimiter)
    if len(cells) != len(columns):
        report.add_line_remark(line.number, f"has {len(cells)} cells for {len(columns)} columns: omitted")
        return
    if not line.is_whole:
        report.facts.append("its last line has no line end: its last number was read as it is")
    yield line.number, dict(zip(columns, cells, strict=True))


def _heading(text: str) -> tuple[list[str], str]:
    """Return the columns and their delimiter; no columns if none of them holds steps, or two have the same name."""
    for delimiter in DELIMITERS:
        columns = [cell.strip() for cell in _cells(text, delimiter)]
        if any(column.lower() in STEP_NAMES for column in columns):
            return (columns, delimiter) if len(set(columns)) == len(columns) else ([], delimiter)
    return [], ","


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        # A cell of more than 131 072 characters is not a number.
        return []


def _is_object_of_a_step(text: str) -> bool:
    cells = _object(text)
    return _step(cells) is not None and bool(_numbers(cells))


def _object(text: str) -> dict[str, Any]:
    try:
        value = loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _step(cells: Mapping[str, Any]) -> int | None:
    by_name = {name.strip().lower(): cell for name, cell in cells.items()}
    cell = next((by_name[name] for name in STEP_NAMES if name in by_name), None)
    step = None if cell is None or isinstance(cell, bool | dict | list) else parse_number(str(cell))
    return int(step) if step is not None and abs(step) < 2**53 and step == int(step) else None


def _values(cells: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
    """Return the numbers by column, and the columns whose cells are neither empty nor numbers."""
    numbers = _numbers(cells)
    empty = {name for name, cell in cells.items() if cell is None or (isinstance(cell, str) and not cell.strip())}
    skipped = {name for name in cells if name.strip().lower() in ("", *STEP_NAMES)} | empty
    unread = [name for name, cell in cells.items() if name.strip() not in numbers and not isinstance(cell, Mapping)]
    return numbers, [name for name in unread if name not in skipped]


def _numbers(cells: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, float]:
    """Return every number by its column; a number within objects by its path, such as `loss/policy`."""
    numbers: dict[str, float] = {}
    for name, cell in cells.items():
        key = prefix + name.strip()
        if isinstance(cell, Mapping) and depth < MAX_DEPTH and len(key) <= MAX_KEY:
            numbers |= _numbers(cell, f"{key}/", depth + 1)
        elif key.lower() not in STEP_NAMES and is_usable(key) and (value := _number(cell)) is not None:
            numbers[key] = value
    return numbers


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    return parse_number(str(cell)) if isinstance(cell, str | int | float) else None
