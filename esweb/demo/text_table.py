"""Tables of the demonstration as text."""

from __future__ import annotations

from collections.abc import Sequence

from esweb.demo.results import Outcome

NO_VALUE = "–"


def columns(headings: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in [headings, *body]) for column in range(len(headings))]
    rows = [headings, ["─" * width for width in widths], *body]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def last_cells(outcome: Outcome) -> tuple[str, str]:
    seconds = NO_VALUE if outcome.seconds is None else f"{outcome.seconds:.0f}"
    return seconds, ", ".join(flag.detector for flag in outcome.flags) or NO_VALUE
