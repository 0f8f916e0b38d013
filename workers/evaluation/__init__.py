"""Evaluate the centre weights on held-out prompts, the same for every method: reward, accuracy, length, KL to the
base."""

from workers.evaluation.evaluator import Evaluation, Evaluator, frozen_copy
from workers.evaluation.kl import TokenKl, kl_per_token
from workers.evaluation.summary import Answer, spread, summarise

__all__ = ["Answer", "Evaluation", "Evaluator", "TokenKl", "frozen_copy", "kl_per_token", "spread", "summarise"]
