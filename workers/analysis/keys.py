"""Keys of the series that evaluations write and that other code reads by name."""

from __future__ import annotations

REWARD, KL = "reward/mean", "kl"
RIGHT = "accuracy/right"
"""The gold measure: share of responses whose answer is right, which no reward sees."""
PREFERS_RIGHT, MARGIN = "accuracy/prefers_right", "likelihood/margin"
"""Share of prompts whose right answer the model finds likelier than every wrong one, and by how many nats per token on
average."""
COMPARED = "likelihood/prompts"
"""Number of prompts that have wrong answers to compare, which the two are means over."""
ACCURACY, EXACT = "accuracy/contains", "accuracy/exact"
SAFE, COST = "safety/safe_ratio", "cost/mean"
PASS = "pass@1"  # noqa: S105
PROMPTS, SAMPLES = "evaluate/prompts", "evaluate/samples"
"""Numbers of prompts and samples, which method evaluate records once for each step of a task."""
CAPTURED = "evaluation/captured"
"""1 in evaluations whose responses captured steps wrote in 16 bits, which round as all such evaluations do."""
