"""Format the numbers of boards for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

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


def leader_sentence(standings: Sequence[BoardData]) -> str:
    """Return a sentence that names the leader if the lead is certain, else says that nothing is decided.

    standings: the best first.
    """
    rated = [row for row in standings if row["rating"] is not None]
    if not rated:
        return gettext("No contestant has a rating yet.")
    if len({row["group"] for row in standings}) > 1:
        return gettext("Nothing is decided: not all contestants can be compared.")
    best, ahead = rated[0], rated[0]["ahead"]["by"]
    params = {
        "name": best["contestant"],
        "rating": format_elo(best["rating"]["value"]),
        "between": format_interval(best["rating"]),
    }
    if ahead["low"] is None:
        return gettext("%(name)s is first at %(rating)s; the uncertainty is unknown.") % params
    if ahead["low"] > 0:
        return gettext("%(name)s leads at %(rating)s, %(between)s.") % params
    params |= {"next": best["ahead"]["of"], "by": format_interval(ahead, signed=True)}
    return gettext("Nothing is decided: %(name)s is first, and its lead over %(next)s may be %(by)s.") % params
