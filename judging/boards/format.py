"""Numbers of boards as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from judging.boards.report.cells import votes
from runs.charts import MINUS, THIN

Said = Mapping[str, Any]
"""Part of a board, as plain values."""
NONE = "–"
BETWEEN = " · "
ROOM, TAIL = 24, 11
"""Letters of a name beside a figure, and how many of them are its last."""
SURE = 0.9995
"""A chance from here on is not written as 100 %, nor one below 1 - SURE as 0 %."""


def elo(value: float | None, *, signed: bool = False) -> str:
    """Points, whole; – where there are none."""
    if value is None:
        return NONE
    return (f"{value:+.0f}" if signed else f"{value:.0f}").replace("-", MINUS)


def interval(said: Said | None, *, signed: bool = False) -> str:
    """A range's two ends; empty where there are none."""
    if said is None or said["low"] is None or said["high"] is None:
        return ""
    return f"{elo(said['low'], signed=signed)} … {elo(said['high'], signed=signed)}"


def short(names: Sequence[str]) -> dict[str, str]:
    """Each name as there is room for it beside a figure: without the end that all share, and without its middle."""
    ends = {name.rpartition(BETWEEN)[2] for name in names}
    cut = len(BETWEEN) + len(ends.pop()) if len(ends) == 1 and all(BETWEEN in name for name in names) else 0
    kept = {name: name[: len(name) - cut] for name in names}
    return {name: one if len(one) <= ROOM else f"{one[: ROOM - TAIL - 1]}…{one[-TAIL:]}" for name, one in kept.items()}


def count(value: float) -> str:
    """A number of votes, halves where two games make one."""
    return votes(value)


def percent(value: float | None, digits: int = 0) -> str:
    """A share of 1."""
    return NONE if value is None else f"{100 * value:.{digits}f}{THIN}%"


def chance(value: float | None) -> str:
    """A share of resamples: what came out in all of them, or in none, is not sure for that."""
    if value is None:
        return NONE
    if value >= SURE:
        return f">{THIN}99.9{THIN}%"
    return f"<{THIN}0.1{THIN}%" if value <= 1 - SURE else percent(value, 1)


def ranks(said: list[int] | None) -> str:
    """The ranks that intervals leave open."""
    if said is None:
        return NONE
    return f"{said[0]}" if said[0] == said[1] else f"{said[0]}–{said[1]}"


def leader(standings: Sequence[Said]) -> str:
    """Who leads, where that is clear; else that nothing is decided. standings: the best first."""
    rated = [one for one in standings if one["rating"] is not None]
    if not rated:
        return gettext("Nobody has a rating yet.")
    if len({one["group"] for one in standings}) > 1:
        return gettext("Nothing is decided: not all can be compared.")
    best, ahead = rated[0], rated[0]["ahead"]["by"]
    said = {"name": best["contestant"], "rating": elo(best["rating"]["value"]), "between": interval(best["rating"])}
    if ahead["low"] is None:
        return gettext("%(name)s stands first at %(rating)s; how sure that is, is not known.") % said
    if ahead["low"] > 0:
        return gettext("%(name)s leads at %(rating)s, %(between)s.") % said
    said |= {"next": best["ahead"]["of"], "by": interval(ahead, signed=True)}
    return gettext("Nothing is decided: %(name)s stands first, and its lead over %(next)s may be %(by)s.") % said
