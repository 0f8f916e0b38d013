"""Create, pause, close, delete and list tournaments: which runs are compared, on which prompts, by which criteria."""

from judging.tournaments.commands import COPY, Draft, Entry, create_from_draft, purge_trash
from judging.tournaments.list import tournament_progress
from judging.tournaments.names import RaterNames, get_prompt_names, get_rater_names

__all__ = [
    "COPY",
    "Draft",
    "Entry",
    "RaterNames",
    "create_from_draft",
    "get_prompt_names",
    "get_rater_names",
    "purge_trash",
    "tournament_progress",
]
