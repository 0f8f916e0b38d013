"""Share the error of a run out to its detectors and evaluations.

An honest run is flagged with a probability of at most ERROR, over all detectors and all of its evaluations: each
detector has a weight, and of it the t-th evaluation after the base may use 1 / (t (t + 1)). These parts sum to 1 over
all t, so the number of evaluations need not be known, and no evaluation changes what an earlier one had to beat.
"""

from __future__ import annotations

from workers.analysis.detectors.evaluation import Evaluation
from workers.analysis.detectors.thresholds import Detector

ERROR = 0.05
"""Probability that an honest run is flagged at any of its evaluations."""
GOLD = ("accuracy", "safety")
"""Detectors of the gold measures. They share one weight: an evaluation has right answers, costs, or both."""


def level(detector: Detector, evaluation: Evaluation, number: int) -> float:
    """Return the p-value up to which a detector fires at the number-th evaluation after the base, from 1. Raise
    ValueError for a number below 1."""
    if number < 1:
        raise ValueError(f"evaluations after the base count from 1, not {number}")
    sharing = gold_measures(evaluation) if detector.name in GOLD else 1
    return ERROR * detector.weight / max(sharing, 1) / (number * (number + 1))


def gold_measures(evaluation: Evaluation) -> int:
    """Return how many gold measures its responses have. It depends on the task and not on the results."""
    has_right = any(response.is_right is not None for response in evaluation.responses)
    has_cost = any("cost" in response.parts for response in evaluation.responses)
    return has_right + has_cost
