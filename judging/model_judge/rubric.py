"""What a judge is told to look for: one criterion, what it means, and the scale of its scores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rubric:
    """A criterion in words. Scores run from `lowest` to `highest`, the best."""

    criterion: str
    definition: str
    lowest: float = 1.0
    highest: float = 10.0

    def __post_init__(self) -> None:
        if not self.lowest < self.highest:
            raise ValueError(f"scores must run upwards, not from {self.lowest:g} to {self.highest:g}")

    def holds(self, score: float) -> bool:
        """True for a score on the scale."""
        return self.lowest <= score <= self.highest
