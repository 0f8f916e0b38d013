"""Boards of tournaments: votes from the database, and the boards that are computed from them and stored."""

from judging.boards.schedule import OrderRefused, add_order, compute_due_boards, last_problem, open_order
from judging.boards.settings import DEFAULT_SETTINGS, BoardSettings, VerdictFilter
from judging.boards.snapshots import (
    STANDINGS,
    board_stamps,
    count_newer_verdicts,
    newest_snapshot,
    newest_standings,
    save_board,
    snapshot_history,
)
from judging.boards.votes import categories, verdicts_in, votes_in, votes_in_categories

__all__ = [
    "DEFAULT_SETTINGS",
    "STANDINGS",
    "BoardSettings",
    "OrderRefused",
    "VerdictFilter",
    "add_order",
    "board_stamps",
    "categories",
    "compute_due_boards",
    "count_newer_verdicts",
    "last_problem",
    "newest_snapshot",
    "newest_standings",
    "open_order",
    "save_board",
    "snapshot_history",
    "verdicts_in",
    "votes_in",
    "votes_in_categories",
]
