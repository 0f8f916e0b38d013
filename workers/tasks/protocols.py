"""Interfaces of tasks with a cost next to their reward: training weighs the two by λ, which moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from workers.tasks.base import COST, Score
from workers.tasks.safety.lagrange import Rule

__all__ = ["COST", "ConstrainedTask", "WaitingTask"]


@runtime_checkable
class ConstrainedTask(Protocol):
    """A task whose scores have a cost."""

    rule: Rule

    def fitness(self, scores: Sequence[Score], weight: float) -> list[float]:
        """Return the value that training raises, one number an answer, for λ = weight."""


@runtime_checkable
class WaitingTask(Protocol):
    """A task that may have to wait for another program."""

    def waits_by(self, wait: Callable[[float, str], None]) -> None:
        """Wait from now on by calling `wait` with seconds and the reason."""
