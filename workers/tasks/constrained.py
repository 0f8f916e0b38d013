"""What a task is that has a cost to keep low beside its reward: training weighs the two by λ, which moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from workers.tasks.base import COST, Score
from workers.tasks.safety.lagrange import Rule

__all__ = ["COST", "Constrained", "Waits"]


@runtime_checkable
class Constrained(Protocol):
    """A task whose scores carry a cost."""

    rule: Rule

    def fitness(self, scores: Sequence[Score], weight: float) -> list[float]:
        """What training raises, one number an answer, for λ = weight."""


@runtime_checkable
class Waits(Protocol):
    """A task that may have to wait for a program elsewhere."""

    def waits_by(self, wait: Callable[[float, str], None]) -> None:
        """From here on it waits by calling `wait` with seconds and the reason."""
