"""Sentences about the leader of a board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.utils.translation import gettext

from judging.boards.format import BoardData, format_elo, format_interval
from judging.boards.settings import DEFAULT_SETTINGS
from judging.boards.win_rates import win_rate
from runs.tables import NONE, Ranks


def leader_sentence(standings: Sequence[BoardData], level: float = DEFAULT_SETTINGS.level) -> str:
    """Return a sentence that names the leader if no other contestant can be the best, else one that names the doubt.

    It says that nothing is decided only if no pair of contestants is. standings: the best first. level: of the interval
    of the win rate of a leader without a rating.
    """
    undecided = gettext("The lead is not decided") if _has_decided_pair(standings) else gettext("Nothing is decided")
    if unbeaten := _unbeaten_sentence(standings, level, undecided):
        return unbeaten
    rated = [row for row in standings if row["rating"] is not None]
    if not rated:
        return gettext("No contestant has a rating yet.")
    if len({row["group"] for row in standings}) > 1:
        return gettext("%(undecided)s: not all contestants can be compared.") % {"undecided": undecided}
    best, ahead = rated[0], rated[0]["ahead"]["by"]
    params = {
        "name": best["contestant"],
        "rating": format_elo(best["rating"]["value"]),
        "between": format_interval(best["rating"]),
        "next": best["ahead"]["of"],
        "by": format_interval(ahead, signed=True),
        "ranks": Ranks(*best["rank_range"]) if best["rank_range"] else NONE,
        "undecided": undecided,
    }
    if ahead["low"] is None:
        return gettext("%(name)s is first at %(rating)s; the uncertainty is unknown.") % params
    if ahead["low"] > 0 and best["rank_range"][1] == 1:
        return gettext("%(name)s leads at %(rating)s, %(between)s.") % params
    if ahead["low"] > 0:
        return gettext("%(undecided)s: %(name)s is ahead of %(next)s, but its rank may be %(ranks)s.") % params
    return gettext("%(undecided)s: %(name)s is first, and its lead over %(next)s may be %(by)s.") % params


def _has_decided_pair(standings: Sequence[BoardData]) -> bool:
    """Return whether the ranks of some group leave out a rank of some member, so that one is better than another."""
    sizes = Counter(row["group"] for row in standings)
    ranks = [(row["rank_range"], sizes[row["group"]]) for row in standings if row["rank_range"] is not None]
    return any((first, last) != (1, size) for (first, last), size in ranks)


def _unbeaten_sentence(standings: Sequence[BoardData], level: float, undecided: str) -> str:
    """Return a sentence about the only contestant that won all of its votes; empty if none or several did."""
    unbeaten = [row for row in standings if row["record"]["votes"] and row["record"]["votes"] == row["record"]["wins"]]
    won = win_rate(unbeaten[0]["record"], level) if len(unbeaten) == 1 else None
    if won is None or unbeaten[0]["rating"] is not None:
        return ""
    params = {
        "name": unbeaten[0]["contestant"], "n": won.n_text, "share": won.text, "between": won.interval_text,
        "undecided": undecided,
    }  # fmt: skip
    if won.low > 0.5:
        return gettext("%(name)s won all of its %(n)s votes: win rate %(share)s (%(between)s), no rating yet.") % params
    if won.n == 1:
        return gettext("%(undecided)s: %(name)s won its only vote (win rate %(share)s, %(between)s).") % params
    message = gettext("%(undecided)s: %(name)s won all of its %(n)s votes (win rate %(share)s, %(between)s).")
    return message % params
