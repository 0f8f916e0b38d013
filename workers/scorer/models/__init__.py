"""Score models: a text in, a number out. Safe-RLHF's, any sequence classifier, and the project's own tiny ones."""

from workers.scorer.models.base import BadModel, Scored, ScoreModel, Wanted
from workers.scorer.models.load import load

__all__ = ["BadModel", "ScoreModel", "Scored", "Wanted", "load"]
