"""Say why nothing of a file is read, and which names would do."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from runs.importing.readers.table_records import DELIMITERS, parse_object
from runs.importing.records import KEYS, KINDS, STEP_COLUMNS, STEP_KEYS, ImportReport, Refusal
from runs.importing.steps import STEP_NAMES, stated_step
from runs.importing.text import lines

HEAD = 64 * 1024
"""Bytes of a file from which its refusal is derived."""
NUMBER = re.compile(r"[-+]?[\d.,]{1,40}(?:[eE][-+]?\d{1,4})?")
MAX_NAMES, MAX_NAME_LENGTH = 12, 60
"""Names of a file's own columns or keys that a reason repeats."""


def explain_text(head: bytes, kinds: Collection[str], sentence: str) -> Refusal:
    """Return why a text that begins with these bytes holds nothing. `sentence` names the kinds of files."""
    texts = [line.text for line in lines(io.BytesIO(head), ImportReport()) if line.text.strip()]
    first, second = (*texts[:2], "", "")[:2]
    if first.lstrip().startswith("{") and (keys := parse_object(first)):
        return _explain_lines(keys)
    if columns := _columns(first, second):
        return _explain_table(*columns)
    return Refusal(f"contains nothing of a supported kind ({sentence})", KINDS, tuple(kinds))


def explain_document(value: Any, keys: Mapping[str, str]) -> Refusal:
    """Return why a JSON document is of no known kind. keys: those by which a kind is recognised -> the kind."""
    names = list(value) if isinstance(value, dict) else []
    own = f"Its keys: {_listed(names)}. " if names else ""
    known = ", ".join(f"{key} ({kind})" for key, kind in keys.items())
    reason = f"is JSON of no known kind. {own}Read are objects with {known}, and lists of rows with means (report)"
    return Refusal(reason, KEYS, tuple(keys))


def _explain_lines(first: Mapping[str, Any]) -> Refusal:
    own = f"Their keys: {_listed(list(first))}"
    if stated_step(first) is not None:
        return Refusal(f"has JSON lines with a step and no number besides. {own}")
    reason = f"has JSON lines without a step. {own}. Read as a step: {', '.join(STEP_NAMES)}"
    return Refusal(reason, STEP_KEYS, STEP_NAMES)


def _explain_table(columns: Sequence[str], row: Sequence[str]) -> Refusal:
    repeated = next((column for column in columns if columns.count(column) > 1), None)
    if repeated is not None:
        return Refusal(f"is a table with several columns of the name {repeated[:MAX_NAME_LENGTH]}: rename them")
    own = f"Its columns: {_listed(columns)}"
    steps = [column for column in columns if column.lower() in STEP_NAMES]
    if steps and stated_step(dict(zip(columns, row, strict=True))) is not None:
        return Refusal(f"is a table of steps without a number besides. {own}")
    problem = f"whose column {steps[0]} begins with no whole number" if steps else "without a column of steps"
    reason = f"is a table {problem}. {own}. Read as a step: {', '.join(STEP_NAMES)}"
    return Refusal(reason, STEP_COLUMNS, STEP_NAMES)


def _columns(heading: str, row: str) -> tuple[list[str], list[str]] | None:
    """Return the columns of a table with these first lines, and the cells of its first row; None if they look like no
    table."""
    for delimiter in DELIMITERS:
        columns = [cell.strip() for cell in _cells(heading, delimiter)]
        cells = [cell.strip() for cell in _cells(row, delimiter)]
        is_heading = len(columns) > 1 and not any(NUMBER.fullmatch(column) for column in columns)
        if is_heading and len(cells) == len(columns) and any(NUMBER.fullmatch(cell) for cell in cells):
            return columns, cells
    return None


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:MAX_NAME_LENGTH] for name in names[:MAX_NAMES])
    return f"{shown} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else shown
