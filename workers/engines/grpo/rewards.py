"""The task's score as the reward function that TRL calls, and the groups it saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workers.records import Member
from workers.tasks import Example, Score, Task, score_safely


class Rewards:
    """A callable for `GRPOTrainer(reward_funcs=…)`. RewardFailed ends the training: a failure never becomes a number.

    TRL calls it once a generation. With several optimiser passes over the same completions a step may bring no new
    groups, and with small generations it may bring some in several calls; `take_groups` gives what came since the last.
    """

    def __init__(self, task: Task, examples: Sequence[Example], group_size: int) -> None:
        self.__name__ = task.name
        self.tokens = 0
        self.samples = 0
        self.mean = float("nan")
        self._task = task
        self._examples = examples
        self._group_size = group_size
        self._groups: list[list[Score]] = []

    def __call__(
        self,
        completions: Sequence[Sequence[dict[str, str]]],
        completion_ids: Sequence[Sequence[int]],
        example: Sequence[int],
        **_: Any,
    ) -> list[float]:
        """Rewards of completions [{"role", "content"}], in TRL's order: the members of a group stand together."""
        texts = [completion[0]["content"] for completion in completions]
        scores = [score_safely(self._task, self._examples[i], t) for i, t in zip(example, texts, strict=True)]
        self._groups += [scores[i : i + self._group_size] for i in range(0, len(scores), self._group_size)]
        self.tokens += sum(map(len, completion_ids))
        self.samples += len(scores)
        self.mean = float(np.mean([score.reward for score in scores]))
        return [score.reward for score in scores]

    def take_groups(self) -> tuple[Member, ...]:
        """The groups scored since the last call, numbered from 0; a group's reward and parts are its members' means."""
        groups, self._groups = self._groups, []
        return tuple(_member(number, group) for number, group in enumerate(groups))


def _member(number: int, scores: list[Score]) -> Member:
    rewards = np.array([score.reward for score in scores])
    names = scores[0].parts.keys()
    parts = {name: float(np.mean([score.parts[name] for score in scores])) for name in names}
    spread = {f"reward_{name}": float(getattr(rewards, name)()) for name in ("std", "min", "max")}
    return Member(seed=number, reward=float(rewards.mean()), parts=parts | spread)
