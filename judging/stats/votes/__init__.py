"""Judgments of files, and votes as arrays. Nothing here imports Django."""

from judging.stats.votes.arrays import Bools, Floats, Ints, Votes, votes_from_arrays
from judging.stats.votes.judgments import (
    TIE_THRESHOLD,
    Judgment,
    list_criteria,
    relative_length_difference,
    votes_by_criterion,
)
from judging.stats.votes.outcomes import (
    COUNTED,
    MISSING,
    Outcome,
    outcome_of_scores,
    preference_of_scores,
)
from judging.stats.votes.prompt_ids import is_unnamed_prompt
from judging.stats.votes.reader import (
    Duplicate,
    JudgmentFiles,
    Problem,
    is_one_document,
    list_rows,
    merge_files,
    parse_json,
    parse_rows,
    read_judgments,
)
from judging.stats.votes.writer import FORMATS, fastchat_lines, published_lines

__all__ = [
    "COUNTED",
    "FORMATS",
    "MISSING",
    "TIE_THRESHOLD",
    "Bools",
    "Duplicate",
    "Floats",
    "Ints",
    "Judgment",
    "JudgmentFiles",
    "Outcome",
    "Problem",
    "Votes",
    "fastchat_lines",
    "is_one_document",
    "is_unnamed_prompt",
    "list_criteria",
    "list_rows",
    "merge_files",
    "outcome_of_scores",
    "parse_json",
    "parse_rows",
    "preference_of_scores",
    "published_lines",
    "read_judgments",
    "relative_length_difference",
    "votes_by_criterion",
    "votes_from_arrays",
]
