"""Who was found better than whom: judgments of files, and the same as arrays. No Django below this line."""

from judging.stats.votes.arrays import Bools, Floats, Ints, Votes, votes
from judging.stats.votes.judgments import TIE_THRESHOLD, Judgment, criteria, lengths_apart, votes_of
from judging.stats.votes.outcomes import COUNTED, MISSING, Outcome, of_scores
from judging.stats.votes.prompt_ids import is_alone
from judging.stats.votes.reading import (
    Duplicate,
    Judged,
    Problem,
    each,
    is_one_document,
    listed,
    parsed,
    read,
    together,
)
from judging.stats.votes.writing import FORMATS, fastchat, published

__all__ = [
    "COUNTED",
    "FORMATS",
    "MISSING",
    "TIE_THRESHOLD",
    "Bools",
    "Duplicate",
    "Floats",
    "Ints",
    "Judged",
    "Judgment",
    "Outcome",
    "Problem",
    "Votes",
    "criteria",
    "each",
    "fastchat",
    "is_alone",
    "is_one_document",
    "lengths_apart",
    "listed",
    "of_scores",
    "parsed",
    "published",
    "read",
    "together",
    "votes",
    "votes_of",
]
