"""Keys of the series that evaluations write and that other code reads by name."""

from __future__ import annotations

REWARD, KL = "reward/mean", "kl"
RIGHT = "accuracy/right"
"""The gold measure: share of responses whose answer is right, which no reward sees."""
ACCURACY, EXACT = "accuracy/contains", "accuracy/exact"
SAFE, COST = "safety/safe_ratio", "cost/mean"
PASS = "pass@1"  # noqa: S105
PROMPTS, SAMPLES = "evaluate/prompts", "evaluate/samples"
"""Numbers of prompts and samples, which method evaluate records once for each step of a task."""
