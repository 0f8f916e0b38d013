"""Scoring of a run's responses afterwards, with any scorer, in addition to the run's own numbers.

queries.py   responses that are not scored yet, and storing of scores
scorers.py   scorers that the site calls for a user
commands.py  begin, cancel and resume a scoring
worker.py    a job that continues scorings, batch by batch
"""

from runs.responses.scoring.commands import CannotScore, begin, cancel, resume
from runs.responses.scoring.queries import count_scored, score, unscored
from runs.responses.scoring.scorers import choices, scorer_for
from runs.responses.scoring.worker import work_through

__all__ = [
    "CannotScore",
    "begin",
    "cancel",
    "choices",
    "count_scored",
    "resume",
    "score",
    "scorer_for",
    "unscored",
    "work_through",
]
