"""A member's fitness: the mean reward of its answers. A reward that fails is never a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workers.engines.context import Context
from workers.models.decoder import Completion
from workers.tasks import Example, RewardFailed, Score, score_safely


@dataclass(frozen=True)
class Fitness:
    """Mean reward and mean parts over the prompts; the reward is NaN for a member that was dropped."""

    reward: float
    parts: dict[str, float]

    @property
    def dropped(self) -> bool:
        return math.isnan(self.reward)


def judge(
    context: Context, step: int, seed: int, examples: Sequence[Example], answers: Sequence[Completion]
) -> Fitness:
    """Scores one member. Raises RewardFailed, unless the config says to drop such a member; then an alert names it."""
    try:
        asked = [(example, answer.text) for example, answer in zip(examples, answers, strict=True)]
        return _mean(score_safely(context.task, asked))
    except RewardFailed as failure:
        if context.config.es is None or context.config.es.on_failure != "drop_member":
            raise
        context.alert(
            "warning",
            f"member {seed} is left out of the update: the reward of prompt {failure.example_id} failed twice, "
            f"{failure.reason}",
            step,
        )
        return Fitness(math.nan, {})


def _mean(scores: Sequence[Score]) -> Fitness:
    names = dict.fromkeys(name for score in scores for name in score.parts)
    parts = {name: average(s.parts[name] for s in scores if name in s.parts) for name in names}
    return Fitness(average(score.reward for score in scores), parts)


def average(numbers: Iterable[float]) -> float:
    """The mean, with an exact sum: equal members get equal fitness to the last bit, in whatever order they came."""
    listed = list(numbers)
    return math.fsum(listed) / len(listed)
