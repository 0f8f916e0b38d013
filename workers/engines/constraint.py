"""How engines meet a task's cost: what they raise instead of the reward, and λ, which a checkpoint keeps.

A task without a cost has no λ, and its fitness is its reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from workers.tasks import Score, Task
from workers.tasks.constrained import COST, Constrained
from workers.tasks.safety.lagrange import THRESHOLD, Multiplier


@dataclass(frozen=True)
class Measured:
    """What the unperturbed policy's answers told: the values to record of the step, and the λ of the next one."""

    values: Mapping[str, float] = field(default_factory=dict)
    multiplier: Multiplier | None = None


@dataclass(frozen=True)
class Constraint:
    """A task and the λ of one step; None for both where the task has no cost."""

    task: Constrained | None
    multiplier: Multiplier | None

    @classmethod
    def of(cls, task: Task, multiplier: Multiplier | None) -> Constraint:
        """With the task's first λ where none is given."""
        if not isinstance(task, Constrained):
            return cls(None, None)
        return cls(task, multiplier or task.rule.first)

    def fitness(self, scores: Sequence[Score]) -> list[float]:
        """What training raises, one number an answer."""
        if self.task is None or self.multiplier is None:
            return [score.reward for score in scores]
        return self.task.fitness(scores, self.multiplier.value)

    def measured(self, scores: Sequence[Score]) -> Measured:
        """Moves λ by the answers' costs. Recorded are the λ that this step used, and J_C, which led to the next;
        nothing moves and nothing is recorded where there is no answer."""
        if self.task is None or self.multiplier is None or not scores:
            return Measured({}, self.multiplier)
        mean_cost = fsum(score.parts[COST] for score in scores) / len(scores)
        moved = self.task.rule.moved(self.multiplier, mean_cost)
        j_c = {"J_C": self.task.rule.excess(mean_cost), "J_C/smoothed": moved.average, "J_C/threshold": THRESHOLD}
        return Measured({"lambda": self.multiplier.value} | j_c, moved)


def told(scores: Sequence[Score]) -> dict[str, float]:
    """The mean reward R of answers that have a cost, as a part beside it; nothing for others, whose reward says it."""
    if not scores or any(COST not in score.parts for score in scores):
        return {}
    return {"reward": fsum(score.reward for score in scores) / len(scores)}


def multiplier_of(data: Mapping[str, Any] | None) -> Multiplier | None:
    """As it comes back from JSON. Raises KeyError, TypeError and ValueError for anything else."""
    if data is None:
        return None
    smoothed = data["smoothed"]
    return Multiplier(float(data["value"]), None if smoothed is None else float(smoothed))
