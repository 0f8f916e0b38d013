"""Requests of the generated safety task, and judged answers that score models learn from.

No word here helps anybody to do harm: an answer is harmful because it agrees.
"""

from workers.corpus.safety.answers import JudgedAnswer, best_answer, judged_answers
from workers.corpus.safety.categories import kinds_of
from workers.corpus.safety.prompts import EVAL_REQUESTS, REQUESTS, TRAIN_REQUESTS, Request

__all__ = [
    "EVAL_REQUESTS",
    "REQUESTS",
    "TRAIN_REQUESTS",
    "JudgedAnswer",
    "Request",
    "best_answer",
    "judged_answers",
    "kinds_of",
]
