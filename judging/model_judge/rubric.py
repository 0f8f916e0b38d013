"""Rubric that a judge receives: one criterion, its definition, and the scale of its scores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rubric:
    """A criterion with its definition. Scores are from `lowest` to `highest`, the best."""

    criterion: str
    definition: str
    lowest: float = 1.0
    highest: float = 10.0

    def __post_init__(self) -> None:
        if not self.lowest < self.highest:
            raise ValueError(f"the lowest score must be below the highest, not {self.lowest:g} and {self.highest:g}")

    def holds(self, score: float) -> bool:
        """Return whether a score is on the scale."""
        return self.lowest <= score <= self.highest
