"""Create, pause, close, delete and list tournaments: which runs are compared, on which prompts, by which criteria."""

from judging.tournaments.commands import COPY, Draft, Entry, make, purge
from judging.tournaments.list import progress
from judging.tournaments.names import Speakers, called, speakers

__all__ = [
    "COPY",
    "Draft",
    "Entry",
    "Speakers",
    "called",
    "make",
    "progress",
    "purge",
    "speakers",
]
