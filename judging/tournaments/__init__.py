"""Create, pause, close, delete and list tournaments: which runs are compared, on which prompts, by which criteria."""

from judging.tournaments.commands import COPY, Entry, create_tournament, purge_trash
from judging.tournaments.list import tournament_progress
from judging.tournaments.names import RaterNames, get_prompt_names, get_rater_names

__all__ = [
    "COPY",
    "Entry",
    "RaterNames",
    "create_tournament",
    "get_prompt_names",
    "get_rater_names",
    "purge_trash",
    "tournament_progress",
]
