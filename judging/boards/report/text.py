"""Format a report as text for a terminal."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations

import numpy as np

from judging.boards.report.cells import NONE, count_noun, format_table, rating_cells, votes_text
from judging.boards.report.diagnostics import controlled_text, judges_table, notes_text, online_elo_text
from judging.boards.report.report import Report
from judging.boards.win_rates import win_rate
from judging.stats.ratings import UNITS, ContestantStanding
from judging.stats.ratings.groups import GroupRatings, group_order
from judging.stats.ratings.standings import rating_difference

METHODS = {
    "half-win": "Bradley–Terry, a tie is half a win for each",
    "davidson": "Davidson, ties have their own strength (not the scale of half-win ratings)",
}


def report_text(report: Report, pairs: bool = False) -> str:
    """Return title, board and diagnostics; with `pairs`, also a table of all pairs."""
    parts = [_title(report), _board(report), _pairs(report) if pairs else "", notes_text(report), judges_table(report)]
    parts += [controlled_text(report), online_elo_text(report)]
    return "\n\n".join(part for part in parts if part)


def _title(report: Report) -> str:
    tally, options = report.board.tally, report.board.options
    counted = f"{tally.counted} of {tally.votes} judgments count"
    missing = ", ".join(f"{count} {name}" for name, count in tally.missing.items() if count)
    size = f"{count_noun(tally.prompts, 'prompt')}, {count_noun(tally.annotators, 'judge')}"
    rates = f"{tally.tie_rate:.1%} ties ({tally.both_bad_rate:.1%} both bad)"
    rates += f"; {count_noun(tally.soft, 'soft preference')}, in part a win for each" if tally.soft else ""
    resampling = options.resampling
    return "\n".join(
        [
            f"{report.criterion or '(no criterion)'}: {counted}{f' ({missing})' if missing else ''}; {size}; {rates}",
            f"{METHODS[options.ties]}. {options.level:.0%} intervals: Student's t, clustered by "
            f"{UNITS[resampling.unit]}. P(best): {resampling.resamples} resamples, seed {resampling.seed}.",
            *report.board.sentences,
        ]
    )


def _board(report: Report) -> str:
    """Return the table of standings. Win rates have columns if a contestant with votes has no rating."""
    anchor, has_several_groups = report.board.options.anchor, len(report.board.groups) > 1
    level = None
    if any(standing.rating is None and standing.record.votes for standing in report.board.standings):
        level = report.board.options.level
    head = ["contestant", *(["group"] if has_several_groups else []), "rating", "interval"]
    head += [*([f"{anchor} = {report.board.options.init:g}", "interval"] if anchor else [])]
    head += [] if level is None else ["win rate", "Wilson interval"]
    head += ["votes", "won", "lost", "tied", "P(best)", "rank", "ahead of the next by"]
    rows = [_row(standing, bool(anchor), has_several_groups, level) for standing in report.board.standings]
    return format_table(head, rows)


def _row(
    standing: ContestantStanding, has_anchor: bool, has_several_groups: bool, win_rate_level: float | None
) -> list[str]:
    ranks = standing.rank_range
    rank = NONE if ranks is None else f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
    counts = (standing.record.votes, standing.record.wins, standing.record.losses, standing.record.ties)
    return [
        standing.contestant, *([str(standing.group)] if has_several_groups else []), *rating_cells(standing.rating),
        *(rating_cells(standing.anchored) if has_anchor else []),
        *([] if win_rate_level is None else _win_rate_cells(standing, win_rate_level)), *map(votes_text, counts),
        NONE if standing.p_first is None else f"{standing.p_first:.3f}", rank,
        NONE if standing.ahead is None else " ".join(cell for cell in rating_cells(standing.ahead.by, "+") if cell),
    ]  # fmt: skip


def _win_rate_cells(standing: ContestantStanding, level: float) -> list[str]:
    won = win_rate(asdict(standing.record), level)
    return [NONE, ""] if won is None else [f"{won.value:.1%}", f"[{won.low:.1%}, {won.high:.1%}]"]


def _pairs(report: Report) -> str:
    """Return a table of all pairs of a group, the better contestant first; shares only of pairs that met."""
    head = ["pair", "difference", "interval", "won", "interval", "of", "tied", "both bad"]
    rows = [
        _pair(report, group, first, second)
        for group in report.board.groups
        for first, second in combinations(group_order(group), 2)
    ]
    return format_table(head, rows) if rows else ""


def _pair(report: Report, group: GroupRatings, first: int, second: int) -> list[str]:
    i, j = group.members[first], group.members[second]
    matrix, share = report.matrix, report.matrix.share[i, j]
    low, high = matrix.interval.low[i, j], matrix.interval.high[i, j]
    return [
        f"{report.contestants[i]} over {report.contestants[j]}",
        *rating_cells(rating_difference(group, first, second), "+"),
        *([NONE, ""] if np.isnan(share) else [f"{share:.1%}", f"[{low:.1%}, {high:.1%}]"]),
        *(votes_text(counts[i, j]) for counts in (matrix.games, matrix.ties, matrix.both_bad)),
    ]  # fmt: skip
