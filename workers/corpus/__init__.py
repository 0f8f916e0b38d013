"""Generated text and problems that models, tasks and scorer share. Plain Python, a pure function of its seed."""

from workers.corpus.facts import EVAL_FACTS, FACTS, TRAIN_FACTS, Fact
from workers.corpus.pairs import Pair

__all__ = ["EVAL_FACTS", "FACTS", "TRAIN_FACTS", "Fact", "Pair"]
