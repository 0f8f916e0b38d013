"""Tables as text for a terminal, aligned under their titles."""

from __future__ import annotations

from collections.abc import Sequence

from runs.tables.table import NONE, Absent, Badge, Cell, Code, Column, Drawing, Interval, Link, Mean, Note, Table


def table_text(table: Table) -> str:
    """Return the columns under their titles; empty if there are no rows."""
    columns = table.typed
    head = [text for column in columns for text in _head(column)]
    rows = [[text for cell in zip(columns, row, strict=True) for text in _cell(*cell)] for row in table.rows]
    return format_table(head, rows) if rows else ""


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, is_ruled: bool = False) -> str:
    """Return columns under their headings, the first aligned to the left, the others to the right. is_ruled: all to the
    left, and a line below each heading."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    rules = [["─" * width for width in widths]] if is_ruled else []
    lines = [
        "  ".join(cell.ljust(width) if is_ruled or not k else cell.rjust(width) for k, (cell, width) in enumerate(line))
        for line in (list(zip(row, widths, strict=True)) for row in [head, *rules, *rows])
    ]
    return "\n".join(line.rstrip() for line in lines)


def _head(column: Column) -> list[str]:
    return [column.heading, *([column.ends] if column.kind is Interval and column.ends else [])]


def _cell(column: Column, cell: Cell) -> list[str]:
    write = column.style.text
    match cell:
        case Interval(value, low, high):
            number = NONE if value is None else write(value)
            ends = "" if low is None or high is None or column.ends is None else f"[{write(low)}, {write(high)}]"
            return [number, ends] if column.ends else [f"{number} {ends}".rstrip()]
        case Mean(value, width):
            return [NONE if value is None else write(value) + ("" if width is None else f" ± {write(width)}")]
        case Badge() | Link() | Code() | Note():
            return [cell.text]
        case int() | float():
            return [write(cell)]
        case None | Absent():
            return [NONE if cell is None else cell.text, *([""] if column.kind is Interval and column.ends else [])]
        case Drawing():
            return [""]
        case tuple():
            return [" ".join(text for part in cell for text in _cell(column, part) if text)]
    return [str(cell)]
