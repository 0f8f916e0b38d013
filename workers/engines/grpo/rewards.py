"""The task's score as the reward function that TRL calls, and the groups it saw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from workers.engines.constraint import Constraint, ConstraintUpdate, reward_part
from workers.records import Member
from workers.tasks import Example, Score, Task, score_safely
from workers.tasks.safety import Multiplier


class Rewards:
    """A callable for `GRPOTrainer(reward_funcs=…)`. RewardFailed ends the training: a failure never becomes a number.

    TRL calls it once per generation. With several optimiser passes over the same completions a step may bring no new
    groups, and with small generations it may bring some in several calls; `take_groups` returns those since the last
    call. It returns the fitness to TRL: the reward, less λ times the cost if the task has one. λ is constant within a
    step.
    """

    def __init__(
        self, task: Task, examples: Sequence[Example], group_size: int, multiplier: Multiplier | None = None
    ) -> None:
        self.__name__ = task.name
        self.tokens = 0
        self.samples = 0
        self.mean = float("nan")
        self._task = task
        self._examples = examples
        self._group_size = group_size
        self._groups: list[list[tuple[Score, float]]] = []
        self._constraint = Constraint.for_task(task, multiplier)

    def __call__(
        self,
        completions: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        example: Sequence[int],
        **_: Any,
    ) -> list[float]:
        """Return the rewards of completions, as text, in TRL's order: the members of a group are adjacent."""
        scores = score_safely(self._task, [(self._examples[i], t) for i, t in zip(example, completions, strict=True)])
        fitness = self._constraint.fitness(scores)
        pairs = list(zip(scores, fitness, strict=True))
        self._groups += [pairs[i : i + self._group_size] for i in range(0, len(pairs), self._group_size)]
        self.tokens += sum(map(len, completion_ids))
        self.samples += len(scores)
        self.mean = fmean(fitness)
        return fitness

    def take_groups(self) -> tuple[tuple[Member, ...], ConstraintUpdate]:
        """Return the groups scored since the last call, numbered from 0, and the effect of their costs on λ, which
        moves.

        A group's reward and parts are its members' means. Steps that bring no groups leave λ as it is.
        """
        groups, self._groups = self._groups, []
        constraint_update = self._constraint.update([score for group in groups for score, _ in group])
        self._constraint = replace(self._constraint, multiplier=constraint_update.multiplier)
        return tuple(_member(number, group) for number, group in enumerate(groups)), constraint_update


def _member(number: int, group: list[tuple[Score, float]]) -> Member:
    # Plain Python: on a handful of numbers numpy would take ten times as long, between every two steps.
    scores, rewards = [score for score, _ in group], [fitness for _, fitness in group]
    mean = fmean(rewards)
    names = dict.fromkeys(name for score in scores for name in score.parts)
    parts = {name: fmean(score.parts[name] for score in scores if name in score.parts) for name in names} | reward_part(
        scores
    )
    std = math.sqrt(fmean((reward - mean) ** 2 for reward in rewards))
    spread = {"reward_std": std, "reward_min": min(rewards), "reward_max": max(rewards)}
    return Member(seed=number, reward=mean, parts=parts | spread)
