"""Costs of a task in the engines: the fitness, which they raise instead of the reward, and λ, which a checkpoint keeps.

A task without a cost has no λ, and its fitness is its reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from workers.tasks import Score, Task
from workers.tasks.protocols import COST, ConstrainedTask
from workers.tasks.safety.lagrange import THRESHOLD, Multiplier


@dataclass(frozen=True)
class ConstraintUpdate:
    """Result of the unperturbed policy's costs: the values to record of the step, and the λ of the next one."""

    values: Mapping[str, float] = field(default_factory=dict)
    multiplier: Multiplier | None = None


@dataclass(frozen=True)
class Constraint:
    """A task and the λ of one step; None for both where the task has no cost."""

    task: ConstrainedTask | None
    multiplier: Multiplier | None

    @classmethod
    def for_task(cls, task: Task, multiplier: Multiplier | None) -> Constraint:
        """Return the constraint of a task, with the task's first λ if none is given."""
        if not isinstance(task, ConstrainedTask):
            return cls(None, None)
        return cls(task, multiplier or task.rule.first)

    def fitness(self, scores: Sequence[Score]) -> list[float]:
        """Return the fitness that training raises, one number per response."""
        if self.task is None or self.multiplier is None:
            return [score.reward for score in scores]
        return self.task.fitness(scores, self.multiplier.value)

    def update(self, scores: Sequence[Score]) -> ConstraintUpdate:
        """Move λ by the responses' costs. Record the λ that this step used, and J_C, which led to the next; nothing
        moves and nothing is recorded if there is no response."""
        if self.task is None or self.multiplier is None or not scores:
            return ConstraintUpdate({}, self.multiplier)
        mean_cost = fsum(score.parts[COST] for score in scores) / len(scores)
        next_multiplier = self.task.rule.moved(self.multiplier, mean_cost)
        j_c = {
            "J_C": self.task.rule.excess(mean_cost),
            "J_C/smoothed": next_multiplier.average,
            "J_C/threshold": THRESHOLD,
        }
        return ConstraintUpdate({"lambda": self.multiplier.value} | j_c, next_multiplier)


def reward_part(scores: Sequence[Score]) -> dict[str, float]:
    """Return the mean reward R of responses that have a cost, as one of the parts; nothing for others, whose fitness it
    is."""
    if not scores or any(COST not in score.parts for score in scores):
        return {}
    return {"reward": fsum(score.reward for score in scores) / len(scores)}


def parse_multiplier(data: Mapping[str, Any] | None) -> Multiplier | None:
    """Return the λ that was read from JSON. Raise KeyError, TypeError and ValueError for anything else."""
    if data is None:
        return None
    smoothed = data["smoothed"]
    return Multiplier(float(data["value"]), None if smoothed is None else float(smoothed))
