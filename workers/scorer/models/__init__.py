"""Score models: a text in, a number out. Safe-RLHF's, any sequence classifier, and the project's own tiny ones."""

from workers.scorer.models.base import BadModel, ModelOptions, ScoreBatch, ScoreModel
from workers.scorer.models.load import load

__all__ = ["BadModel", "ModelOptions", "ScoreBatch", "ScoreModel", "load"]
