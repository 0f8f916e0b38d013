"""Cells of CSV files that a spreadsheet does not run as formulas. Stdlib only: the command line writes files too."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Cell = TypeVar("Cell")
FORMULA = re.compile("[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""Matches how a formula begins, in full-width signs too: some spreadsheets read them as plain ones."""
NUMBER = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")


def inert(cell: Cell) -> Cell | str:
    """Return the cell; text that a spreadsheet would run as a formula gets an apostrophe before it. A number stays a
    number, also as text, such as the response -3."""
    return f"'{cell}" if isinstance(cell, str) and _is_formula(cell) else cell


def exact(text: str) -> str:
    """Return the text as `inert` does, but so that `original` restores every text: one that looks as if `inert` had
    changed it gets an apostrophe too."""
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def original(cell: str) -> str:
    """Return the text of a cell that `exact` or `inert` wrote."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell.lstrip("'")) else cell


def _is_formula(text: str) -> bool:
    return bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


class _Line:
    """File-like object that stores nothing: `write` returns its text."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield each row as a line of CSV, its cells inert."""
    writer = csv.writer(_Line())
    return (writer.writerow(map(inert, row)) for row in rows)


def fields_text(fields: Mapping[str, object]) -> str:
    """Return fields as one cell, `origin=import; estimator=k3`, without those that are None."""
    return "; ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
