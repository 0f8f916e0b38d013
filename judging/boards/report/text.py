"""Format a report as text for a terminal."""

from __future__ import annotations

from judging.boards.format import BoardData
from judging.boards.report.diagnostics import controlled_text, count_noun, judges_text, notes_text, online_elo_text
from judging.boards.report.report import Report
from judging.boards.tables import pairs_table, shown_standings
from judging.stats.ratings import UNITS
from runs.tables import table_text

METHODS = {
    "half-win": "Bradley–Terry, a tie is half a win for each",
    "davidson": "Davidson, ties have their own strength (not the scale of half-win ratings)",
}


def report_text(report: Report, pairs: bool = False) -> str:
    """Return title, board and diagnostics; with `pairs`, also a table of all pairs."""
    board = report.to_json()
    parts = [_title(report), _board_text(board), _pairs_text(board) if pairs else "", notes_text(report)]
    parts += [judges_text(board), controlled_text(report, board), online_elo_text(report, board)]
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


def _board_text(board: BoardData) -> str:
    """Return the table of standings. Win rates have columns if a contestant with votes has no rating."""
    asked = board["board"]["asked"]
    group = {"group": "group"} if len(board["board"]["groups"]) > 1 else {}
    titles = {"contestant": "contestant", **group, "rating": "rating"}
    titles |= {"anchored": f"{asked['anchor']} = {asked['init']:g}", "win_rate": "win rate", "votes": "votes"}
    titles |= {"wins": "won", "losses": "lost", "ties": "tied", "p_best": "P(best)", "ranks": "rank"}
    return table_text(shown_standings(board, **titles, ahead="ahead of the next by"))


def _pairs_text(board: BoardData) -> str:
    """Return a table of all pairs of a group, the better contestant first; shares only of pairs that met."""
    titles = {"pair": "pair", "difference": "difference", "won": "won", "games": "of", "ties": "tied"}
    return table_text(pairs_table(board).select(**titles, both_bad="both bad"))
