"""Measure what the responses of a step have in common, and find where they collapse."""

from runs.responses.collapse.measure import measure_due

__all__ = [
    "measure_due",
]
