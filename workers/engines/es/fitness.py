"""A member's fitness: the mean reward of its answers, less λ times their cost where the task has one. A reward that
fails is never a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workers.engines.constraint import Constraint, told
from workers.engines.context import Context
from workers.models.decoder import Completion
from workers.tasks import Example, Known, RewardFailed, Score, score_safely


@dataclass(frozen=True)
class Fitness:
    """The fitness itself and mean parts over the prompts; it is NaN for a member that was dropped."""

    reward: float
    parts: dict[str, float]

    @property
    def dropped(self) -> bool:
        return math.isnan(self.reward)


def judge(
    context: Context,
    constraint: Constraint,
    step: int,
    seed: int,
    examples: Sequence[Example],
    answers: Sequence[Completion],
    known: Known,
) -> Fitness:
    """Score one member. Raise RewardFailed, unless the config says to drop such a member; then an alert names it."""
    try:
        scores = scores_of(context, examples, answers, known)
        return Fitness(average(constraint.fitness(scores)), _parts(scores) | told(scores))
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


def scores_of(
    context: Context, examples: Sequence[Example], answers: Sequence[Completion], known: Known
) -> list[Score]:
    """Return the task's scores of the answers; `known` holds those of the iteration's other members.

    Raise RewardFailed, and Interrupted if the run is asked to stop.
    """
    asked = [(example, answer.text) for example, answer in zip(examples, answers, strict=True)]
    with context.stop.cuts():
        return score_safely(context.task, asked, known)


def _parts(scores: Sequence[Score]) -> dict[str, float]:
    names = dict.fromkeys(name for score in scores for name in score.parts)
    return {name: average(s.parts[name] for s in scores if name in s.parts) for name in names}


def average(numbers: Iterable[float]) -> float:
    """The mean, with an exact sum: equal members get equal fitness to the last bit, in whatever order they came."""
    listed = list(numbers)
    return math.fsum(listed) / len(listed)
