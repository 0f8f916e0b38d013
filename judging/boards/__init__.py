"""The boards of tournaments: votes as they stand in the database, and what is worked out of them and kept."""

from judging.boards.schedule import CannotOrder, last_problem, open_order, order, work_through
from judging.boards.settings import USUAL, BoardSettings, VerdictFilter
from judging.boards.snapshots import STANDINGS, board_of, history_of, keep, leading, newer, stamps
from judging.boards.votes import categories, verdicts_in, votes_in, votes_in_categories

__all__ = [
    "STANDINGS",
    "USUAL",
    "BoardSettings",
    "CannotOrder",
    "VerdictFilter",
    "board_of",
    "categories",
    "history_of",
    "keep",
    "last_problem",
    "leading",
    "newer",
    "open_order",
    "order",
    "stamps",
    "verdicts_in",
    "votes_in",
    "votes_in_categories",
    "work_through",
]
