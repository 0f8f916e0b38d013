"""The task's score as the reward function that TRL calls, and the groups it saw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from workers.engines.constraint import Constraint, ConstraintUpdate, reward_part
from workers.engines.grpo.process_group import ProcessGroup
from workers.records import Member
from workers.tasks import Example, Score, Task, score_safely
from workers.tasks.safety import Multiplier


class Rewards:
    """A callable for `GRPOTrainer(reward_funcs=…)`. RewardFailed ends the training: a failure never becomes a number.

    TRL calls it once per generation. With several optimiser passes over the same completions a step may bring no new
    groups, and with small generations it may bring some in several calls; `take_groups` returns those since the last
    call. It returns the fitness to TRL: the reward, less λ times the cost if the task has one. λ is constant within a
    step.

    With several processes, the first one scores the completions of all, so that no group is scored in parts.
    `scores` are those of the last call, in the order of processes and completions; empty in the other processes.
    """

    def __init__(
        self,
        task: Task,
        examples: Sequence[Example],
        group_size: int,
        multiplier: Multiplier | None = None,
        processes: ProcessGroup | None = None,
    ) -> None:
        self.__name__ = task.name
        self.scores: Sequence[Score] = ()
        self.tokens = 0
        self.samples = 0
        self.mean = float("nan")
        self._task = task
        self._examples = examples
        self._group_size = group_size
        self._groups: list[list[tuple[Score, float]]] = []
        self._constraint = Constraint.for_task(task, multiplier)
        self._processes = processes or ProcessGroup()

    def __call__(
        self,
        completions: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        example: Sequence[int],
        **_: Any,
    ) -> list[float]:
        """Return the rewards of this process's completions, as text, in TRL's order: the members of a group are
        adjacent.

        Raise RewardFailed, ScorerFailed or Interrupted in the first process, and PeerFailed in the others.
        """
        rows = self._processes.gather(list(zip(example, completions, map(len, completion_ids), strict=True)))
        fitness = self._processes.run_in_first(lambda: self._score(rows))
        start = self._processes.rank * len(completions)
        return fitness[start : start + len(completions)]

    def _score(self, rows: Sequence[tuple[int, str, int]]) -> list[float]:
        """Return the fitness of completions, given as example, text and number of tokens, and note their groups."""
        self.scores = score_safely(self._task, [(self._examples[i], text) for i, text, _ in rows])
        fitness = self._constraint.fitness(self.scores)
        pairs = list(zip(self.scores, fitness, strict=True))
        self._groups += [pairs[i : i + self._group_size] for i in range(0, len(pairs), self._group_size)]
        self.tokens += sum(tokens for _, _, tokens in rows)
        self.samples += len(rows)
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
