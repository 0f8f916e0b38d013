"""A model judged on a whole test split by reward and cost, in the files that the published alignment study left."""

from workers.evaluation.alignment.files import ScoredAnswer, write

__all__ = ["ScoredAnswer", "write"]
