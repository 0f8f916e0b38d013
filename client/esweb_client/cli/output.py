"""Output to the terminal: tables for users, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def plain(value: object) -> str:
    """Return one line of text without control characters: names come from other users."""
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else " " for letter in text)


def number(value: object) -> str:
    """Return a number in few digits; a value that is no finite number is printed unchanged."""
    return f"{value:.4g}" if isinstance(value, float) else plain(value)


def print_json(value: Any) -> None:
    """Print one JSON document on a line."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns as wide as their widest cell."""
    lines = [list(heads), *([plain(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
