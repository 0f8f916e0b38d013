"""A report as text for a terminal."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from judging.boards.report.cells import NONE, interval, many, table, votes
from judging.boards.report.diagnostics import controlled, judges, notes, online_elo
from judging.boards.report.report import Report
from judging.stats.ratings import UNITS, ContestantStanding
from judging.stats.ratings.groups import Rated, order
from judging.stats.ratings.standings import difference

METHODS = {
    "half-win": "Bradley–Terry, a tie is half a win for each",
    "davidson": "Davidson, ties have a strength of their own (not the scale of half-win ratings)",
}


def text(report: Report, pairs: bool = False) -> str:
    """Title, board, and what stands beside it; every pair too where asked for."""
    parts = [_title(report), _board(report), _pairs(report) if pairs else "", notes(report), judges(report)]
    parts += [controlled(report), online_elo(report)]
    return "\n\n".join(part for part in parts if part)


def _title(report: Report) -> str:
    tally, asked = report.board.tally, report.board.asked
    counted = f"{tally.counted} of {tally.votes} judgments count"
    missing = ", ".join(f"{count} {name}" for name, count in tally.missing.items() if count)
    size = f"{many(tally.prompts, 'prompt')}, {many(tally.annotators, 'judge')}"
    rates = f"{tally.tie_rate:.1%} ties ({tally.both_bad_rate:.1%} both bad)"
    how = asked.resampling
    return "\n".join(
        [
            f"{report.criterion or '(no criterion)'}: {counted}{f' ({missing})' if missing else ''}; {size}; {rates}",
            f"{METHODS[asked.ties]}. {asked.level:.0%} intervals: {how.resamples} resamples of {UNITS[how.unit]}, "
            f"seed {how.seed}.",
            *report.board.sentences,
        ]
    )


def _board(report: Report) -> str:
    anchor, several = report.board.asked.anchor, len(report.board.groups) > 1
    head = ["contestant", *(["group"] if several else []), "rating", "interval"]
    head += [*([f"{anchor} = {report.board.asked.init:g}", "interval"] if anchor else [])]
    head += ["votes", "won", "lost", "tied", "P(best)", "rank", "ahead of the next by"]
    return table(head, [_row(one, bool(anchor), several) for one in report.board.standings])


def _row(one: ContestantStanding, has_anchor: bool, several: bool) -> list[str]:
    ranks = one.rank_range
    rank = NONE if ranks is None else f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
    counts = (one.record.votes, one.record.wins, one.record.losses, one.record.ties)
    return [
        one.contestant, *([str(one.group)] if several else []), *interval(one.rating),
        *(interval(one.anchored) if has_anchor else []), *map(votes, counts),
        NONE if one.p_first is None else f"{one.p_first:.3f}", rank,
        NONE if one.ahead is None else " ".join(cell for cell in interval(one.ahead.by, "+") if cell),
    ]  # fmt: skip


def _pairs(report: Report) -> str:
    """Every two of a group, the better one first; shares are of those who met."""
    head = ["pair", "apart by", "interval", "won", "interval", "of", "tied", "both bad"]
    rows = [
        _pair(report, group, one, other)
        for group in report.board.groups
        for one, other in combinations(order(group), 2)
    ]
    return table(head, rows) if rows else ""


def _pair(report: Report, group: Rated, one: int, other: int) -> list[str]:
    i, j = group.members[one], group.members[other]
    found, share = report.matrix, report.matrix.share[i, j]
    low, high = found.interval.low[i, j], found.interval.high[i, j]
    return [
        f"{report.contestants[i]} over {report.contestants[j]}", *interval(difference(group, one, other), "+"),
        *([NONE, ""] if np.isnan(share) else [f"{share:.1%}", f"[{low:.1%}, {high:.1%}]"]),
        *(votes(counts[i, j]) for counts in (found.games, found.ties, found.both_bad)),
    ]  # fmt: skip
