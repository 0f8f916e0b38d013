"""Evaluate the centre weights on held-out prompts, the same for every method: reward, accuracy, length, KL to the
base."""

from workers.evaluation.evaluator import Evaluation, EvaluationDecoder, Evaluator, frozen_copy
from workers.evaluation.kl import TokenKl, kl_per_token
from workers.evaluation.summary import Answer, spread, summarise

__all__ = [
    "Answer",
    "Evaluation",
    "EvaluationDecoder",
    "Evaluator",
    "TokenKl",
    "frozen_copy",
    "kl_per_token",
    "spread",
    "summarise",
]
