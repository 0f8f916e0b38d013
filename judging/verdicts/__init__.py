"""The only writer of verdicts: what people say one by one, what judges say, and what files of judgments hold."""

from judging.verdicts.files import OfFile, of_files
from judging.verdicts.judges import BATCH, Judged, of_judge
from judging.verdicts.people import (
    CHOICES,
    REASONS,
    SIDES,
    CannotVote,
    Choice,
    NotNow,
    choose,
    reveal,
    skip,
    take_back,
)

__all__ = [
    "BATCH",
    "CHOICES",
    "REASONS",
    "SIDES",
    "CannotVote",
    "Choice",
    "Judged",
    "NotNow",
    "OfFile",
    "choose",
    "of_files",
    "of_judge",
    "reveal",
    "skip",
    "take_back",
]
