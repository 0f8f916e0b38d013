"""Tables of numbers by step: CSV, with a heading, and JSON lines. Their method is unknown unless their path names it.

A table says nothing of what its columns measure, so each keeps its own name.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from runs.importing.hyperparameters import of_name, seed_of
from runs.importing.numbers import number
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.text import BOM, Line, lines
from runs.importing.vocabulary import is_usable
from workers.config.shallow_json import loads
from workers.executors.states import State
from workers.records import Metric

KIND = "table of steps"
STEP_NAMES = ("step", "_step", "global_step", "train/global_step", "iteration", "iter")
"""Names of the column of steps, in any case; the first that a table has is taken."""
DELIMITERS = (",", "\t", ";")
DEEPEST = 4
Row = tuple[int, Mapping[str, Any]]
"""(number of its line, column -> cell)."""


def is_table(first: bytes, second: bytes) -> bool:
    """Return whether a file with these two lines is a table of steps."""
    heading, row = (line.removeprefix(BOM).decode("utf-8", errors="replace") for line in (first, second))
    if heading.lstrip().startswith("{"):
        return all(_is_object_of_a_step(text) for text in (heading, row) if text)
    columns, delimiter = _heading(heading)
    cells = dict(zip(columns, _cells(row, delimiter), strict=False)) if columns else {}
    return len(columns) > 1 and _step(cells) is not None


def entries(file: BinaryIO, name: str, told: ImportReport) -> Iterator[Entry]:
    """Yield the numbers of each row. A step that goes back begins a new epoch: the run was started again."""
    found = ImportedRun(0, KIND, settings=of_name(name), state=State.UNKNOWN)
    found.method, found.seed = str(found.settings.get("method") or ""), seed_of(found.settings)
    epoch, before, last, unread = 0, None, 0, Counter[str]()
    for at, cells in _rows(lines(file, told), told):
        step = _step(cells)
        if step is None:
            told.at_line(at, "has no step that is a whole number: left out")
            continue
        values, texts = _values(cells)
        unread.update(texts)
        epoch += int(before is not None and step < before)
        before, last = step, max(last, step)
        if values:
            yield Entry(found, Metric(step, values), 0.0, epoch)
    for column, count in unread.most_common():
        told.remark(f"column {column[:100]}", f"holds no number in {count} row{'' if count == 1 else 's'}")
    if before is not None:
        found.reason = f"Its rows end at step {last} and do not say how it ended"
        yield Entry(found)


def _rows(found: Iterator[Line], told: ImportReport) -> Iterator[Row]:
    columns, delimiter = list[str](), ","
    for line in found:
        if not line.text.strip():
            continue
        if line.text.lstrip().startswith("{"):
            if cells := _object(line.text):
                yield line.number, cells
            else:
                told.at_line(line.number, "is no JSON object, or is cut off: left out")
        elif not columns:
            columns, delimiter = _heading(line.text)
        else:
            yield from _row(line, columns, delimiter, told)


def _row(line: Line, columns: Sequence[str], delimiter: str, told: ImportReport) -> Iterator[Row]:
    cells = _cells(line.text, delimiter)
    if len(cells) != len(columns):
        told.at_line(line.number, f"has {len(cells)} cells under {len(columns)} columns: left out")
        return
    if not line.is_whole:
        told.facts.append("its last line has no line end: its last number is taken as it is")
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
        # A cell of more than 131 072 characters is no number.
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
    step = None if cell is None or isinstance(cell, bool | dict | list) else number(str(cell))
    return int(step) if step is not None and abs(step) < 2**53 and step == int(step) else None


def _values(cells: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
    """Return the numbers by column, and the columns whose cells are neither empty nor numbers."""
    found = _numbers(cells)
    empty = {name for name, cell in cells.items() if cell is None or (isinstance(cell, str) and not cell.strip())}
    skipped = {name for name in cells if name.strip().lower() in ("", *STEP_NAMES)} | empty
    unread = [name for name, cell in cells.items() if name.strip() not in found and not isinstance(cell, Mapping)]
    return found, [name for name in unread if name not in skipped]


def _numbers(cells: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, float]:
    """Return every number by its column; one within objects by its path, `loss/policy`."""
    found: dict[str, float] = {}
    for name, cell in cells.items():
        key = prefix + name.strip()
        if isinstance(cell, Mapping) and depth < DEEPEST:
            found |= _numbers(cell, f"{key}/", depth + 1)
        elif key.lower() not in STEP_NAMES and is_usable(key) and (value := _number(cell)) is not None:
            found[key] = value
    return found


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    return number(str(cell)) if isinstance(cell, str | int | float) else None
