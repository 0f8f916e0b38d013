"""Scores a run's answers afterwards, with any scorer; what it gives stands beside the run's own numbers.

answers.py   which answers are not scored yet, and their scores kept
scorers.py   which scorers the site calls, and for whom
asking.py    a scoring is asked for, cancelled, resumed
working.py   scorings gone on with by a job, a piece at a time
"""

from runs.responses.scoring.commands import CannotScore, begin, cancel, resume
from runs.responses.scoring.queries import counted, score, unscored
from runs.responses.scoring.scorers import choices, scorer_of
from runs.responses.scoring.worker import work_through

__all__ = [
    "CannotScore",
    "begin",
    "cancel",
    "choices",
    "counted",
    "resume",
    "score",
    "scorer_of",
    "unscored",
    "work_through",
]
