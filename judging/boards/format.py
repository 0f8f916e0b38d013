"""Format the numbers of boards for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judging.boards.report.cells import votes_text
from runs.charts import MINUS, THIN

BoardData = Mapping[str, Any]
"""Part of a board, as plain values."""
NONE = "–"
BETWEEN = " · "
MAX_NAME_LENGTH, NAME_TAIL_LENGTH = 24, 11
"""Characters of a name next to a figure, and the number of them that are taken from its end."""
ALMOST_CERTAIN = 0.9995
"""A chance of at least this is not written as 100 %, and one of at most 1 - ALMOST_CERTAIN not as 0 %."""


def format_elo(value: float | None, *, signed: bool = False) -> str:
    """Return the points as a whole number, or NONE if there are none."""
    if value is None:
        return NONE
    return (f"{value:+.0f}" if signed else f"{value:.0f}").replace("-", MINUS)


def format_interval(bounds: BoardData | None, *, signed: bool = False) -> str:
    """Return the two ends of a range, or an empty text if there are none."""
    if bounds is None or bounds["low"] is None or bounds["high"] is None:
        return ""
    return f"{format_elo(bounds['low'], signed=signed)} … {format_elo(bounds['high'], signed=signed)}"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten each name to fit next to a figure: without the end that all names share, and without its middle."""
    ends = {name.rpartition(BETWEEN)[2] for name in names}
    cut = len(BETWEEN) + len(ends.pop()) if len(ends) == 1 and all(BETWEEN in name for name in names) else 0
    shortened = {name: name[: len(name) - cut] for name in names}
    return {
        name: text
        if len(text) <= MAX_NAME_LENGTH
        else f"{text[: MAX_NAME_LENGTH - NAME_TAIL_LENGTH - 1]}…{text[-NAME_TAIL_LENGTH:]}"
        for name, text in shortened.items()
    }


def format_count(value: float) -> str:
    """Return a number of votes as text, with halves if two games count as one vote."""
    return votes_text(value)


def format_percent(value: float | None, digits: int = 0) -> str:
    """Return a share of 1 in per cent, or NONE if it is None."""
    return NONE if value is None else f"{100 * value:.{digits}f}{THIN}%"


def format_chance(value: float | None) -> str:
    """Return a share of resamples in per cent. A result in all resamples, or in none, is not shown as certain."""
    if value is None:
        return NONE
    if value >= ALMOST_CERTAIN:
        return f">{THIN}99.9{THIN}%"
    return f"<{THIN}0.1{THIN}%" if value <= 1 - ALMOST_CERTAIN else format_percent(value, 1)


def format_ranks(ranks: list[int] | None) -> str:
    """Return the range of ranks that the intervals leave open, or NONE if it is None."""
    if ranks is None:
        return NONE
    return f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
