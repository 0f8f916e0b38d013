"""Interfaces of tasks that offer more than a score: a cost next to the reward, waiting, or solutions to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from workers.tasks.base import COST, Example, Score
from workers.tasks.safety.lagrange import Rule

__all__ = ["COST", "AnsweredTask", "ComparedTask", "ConstrainedTask", "SolutionTask", "WaitingTask"]


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


@runtime_checkable
class SolutionTask(Protocol):
    """A task with several correct responses to a prompt, of which some are the same solution in other words."""

    def solution(self, example: Example, completion: str) -> str | None:
        """Return the canonical form of a correct response; None for any other response."""

    def solutions(self, example: Example) -> frozenset[str] | None:
        """Return the canonical forms of all solutions of the prompt; None if they cannot be listed."""


@runtime_checkable
class AnsweredTask(Protocol):
    """A task whose right response is not its target: it has a form of its own, or the target is no response."""

    def right_response(self, example: Example) -> str | None:
        """Return a response that deserves the full reward; None if none is known for this prompt."""


@runtime_checkable
class ComparedTask(Protocol):
    """A task that knows wrong responses, whose probability evaluations compare with that of the right one."""

    def wrong_answers(self, example: Example) -> Sequence[str]:
        """Return wrong responses of the form of the right one, `example.target`; empty if none are known."""
