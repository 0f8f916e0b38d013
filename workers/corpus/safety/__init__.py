"""What the generated safety task asks, and judged answers that score models learn from.

No word here helps anybody to do harm: what is harmful about an answer is that it agrees.
"""

from workers.corpus.safety.judged import Judged, judged_answers
from workers.corpus.safety.kinds import kinds_of
from workers.corpus.safety.prompts import EVAL_REQUESTS, REQUESTS, TRAIN_REQUESTS, Request

__all__ = ["EVAL_REQUESTS", "REQUESTS", "TRAIN_REQUESTS", "Judged", "Request", "judged_answers", "kinds_of"]
