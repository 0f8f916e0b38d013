"""What goes to the terminal: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def plain(value: object) -> str:
    """One line of text that does nothing to a terminal: names come from other people."""
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else " " for letter in text)


def number(value: object) -> str:
    """A number in few digits; what is none (NaN, Infinity) as it was said."""
    return f"{value:.4g}" if isinstance(value, float) else plain(value)


def print_json(value: Any) -> None:
    """One JSON document on a line."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as what stands in them."""
    lines = [list(heads), *([plain(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
