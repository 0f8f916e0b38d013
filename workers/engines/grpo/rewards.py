"""The task's score as the reward function that TRL calls, and the groups it saw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

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
        scores = score_safely(self._task, [(self._examples[i], t) for i, t in zip(example, texts, strict=True)])
        self._groups += [scores[i : i + self._group_size] for i in range(0, len(scores), self._group_size)]
        self.tokens += sum(map(len, completion_ids))
        self.samples += len(scores)
        self.mean = fmean(score.reward for score in scores)
        return [score.reward for score in scores]

    def take_groups(self) -> tuple[Member, ...]:
        """The groups scored since the last call, numbered from 0; a group's reward and parts are its members' means."""
        groups, self._groups = self._groups, []
        return tuple(_member(number, group) for number, group in enumerate(groups))


def _member(number: int, scores: list[Score]) -> Member:
    # Plain Python: on a handful of numbers numpy would take ten times as long, between every two steps.
    rewards = [score.reward for score in scores]
    mean = fmean(rewards)
    names = dict.fromkeys(name for score in scores for name in score.parts)
    parts = {name: fmean(score.parts[name] for score in scores if name in score.parts) for name in names}
    std = math.sqrt(fmean((reward - mean) ** 2 for reward in rewards))
    spread = {"reward_std": std, "reward_min": min(rewards), "reward_max": max(rewards)}
    return Member(seed=number, reward=mean, parts=parts | spread)
