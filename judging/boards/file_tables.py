"""Tables of a stored board as files: as CSV with every digit, and as LaTeX in whole Elo points, with intervals."""

from __future__ import annotations

from collections.abc import Callable

from judging.boards.category_table import categories_table
from judging.boards.format import BoardData
from judging.boards.other_estimates import controlled_table, online_table
from judging.boards.tables import pairs_table, shown_standings, standings_table, win_matrix, wins_table
from judging.boards.win_rates import has_unrated
from judging.models import Snapshot
from runs.tables import Table

RECORD = ("votes", "wins", "losses", "ties")
PAIR = ("contestant", "other", "difference", "won", "games")
TIE_RULES = {
    "half-win": "Bradley-Terry strengths on the Elo scale, ties as half wins",
    "davidson": "Davidson strengths on the Elo scale, ties have a strength of their own",
}
CSV_TABLES: dict[str, Callable[[BoardData], Table]] = {
    "standings": lambda board: standings_table(board).select(
        "contestant", "group", "rating", "anchored", *RECORD, "p_best", "ranks", "ahead_of", "ahead", "win_rate"
    ),
    "pairs": lambda board: pairs_table(board).select(*PAIR, "ties", "both_bad"),
    "wins": wins_table,
    "categories": lambda board: categories_table(board).select(
        "contestant", "category", "prompts", "rating", *RECORD, "why_none"
    ),
    "controlled": lambda board: controlled_table(board).select("contestant", "rating", "controlled", "change"),
    "online": lambda board: online_table(board).select("contestant", "single", "orders", "spread"),
}
LATEX_TABLES: dict[str, Callable[[BoardData], Table]] = {
    "standings": lambda board: shown_standings(
        board, "contestant", "group", "rating", "win_rate", "anchored", "ranks", "p_best", "ahead", *RECORD, "failed"
    ),
    "pairs": lambda board: pairs_table(board).select(*PAIR),
    "wins": win_matrix,
    "categories": lambda board: categories_table(board).select("category", "prompts", "contestant", "rating", "votes"),
    "controlled": lambda board: controlled_table(board).select(
        contestant="contestant", rating="rating", controlled="controlled", change="change"
    ),
    "online": lambda board: online_table(board).select(
        contestant="contestant", single="single", orders="orders", spread="orders spread"
    ),
}
TABLE_NOTES = {
    "standings": "win rate: share of votes won, ties as half wins, with a Wilson interval that takes each vote as"
    " independent.",
    "pairs": "difference: Elo points by which the first is ahead. won: its share of games, ties as half wins.",
    "wins": "cells: share of games that the row won against the column, ties as half wins; its interval; games.",
    "controlled": "controlled: without the effects of position and length, with a standard error clustered by prompt.",
    "online": "single: one order of the verdicts. orders: mean, standard deviation and spread over other orders.",
}


def notes_of(snapshot: Snapshot, name: str) -> list[str]:
    """Return the lines that state the number of verdicts, the estimator and the origin of the table `name`."""
    board = snapshot.board["board"]
    asked, tally = board["asked"], board["tally"]
    return [
        f"Leaderboard of {snapshot.tournament.name}: {snapshot.rubric}",
        f"n = {tally['counted']} of {tally['votes']} verdicts on {tally['prompts']} prompts by {tally['annotators']}"
        " voters and judges",
        f"{TIE_RULES[asked['ties']]}; mean {asked['init']:g}; prior {asked['prior']:g}",
        _intervals_note(board, (snapshot.board["categories"] or {}).get("resamples") if name == "categories" else None),
        *filter(None, [TABLE_NOTES.get(name) if name != "standings" or has_unrated(snapshot.board) else None]),
        f"Computed {snapshot.at.isoformat(timespec='seconds')}; hash {snapshot.digest}",
    ]


def _intervals_note(board: BoardData, category_resamples: int | None) -> str:
    """Return the line about the intervals, and about the resamples that a table of the whole board uses."""
    resampling, level = board["asked"]["resampling"], f"{100 * board['asked']['level']:g} %"
    resampled = f"{category_resamples or resampling['resamples']} resamples by {resampling['unit']}"
    if "intervals" not in board:
        return f"{level} intervals from {resampled}, seed {resampling['seed']}"
    student = f"{level} intervals: Student's t, standard errors clustered by {resampling['unit']} (CR3)"
    return student if category_resamples else f"{student}; ranks from {resampled}, seed {resampling['seed']}"
