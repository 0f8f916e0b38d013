"""A member's fitness: the mean reward of its responses, less λ times their cost if the task has one. A reward that
fails is never a number. `member_kl.py` subtracts β times the KL from the base model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workers.config import EsConfig
from workers.engines.constraint import Constraint, reward_part
from workers.engines.context import Context
from workers.engines.es.shaping import shape_fitness
from workers.tasks import RewardFailed, Score


class AllDropped(RuntimeError):
    """Every member of an iteration was dropped."""


@dataclass(frozen=True)
class Fitness:
    """The fitness itself and mean parts over the prompts; it is NaN for a member that was dropped."""

    reward: float
    parts: dict[str, float]
    kl: float | None = None
    """Mean KL of its responses from the base model, in nats, if es.kl_beta subtracts it."""

    @property
    def dropped(self) -> bool:
        return math.isnan(self.reward)


def judge(context: Context, constraint: Constraint, step: int, seed: int, score: Callable[[], list[Score]]) -> Fitness:
    """Return the fitness of one member, from the scores that `score` returns.

    Raise RewardFailed as it does, unless the config says to drop such a member; then an alert names the member.
    """
    try:
        scores = score()
        return Fitness(average(constraint.fitness(scores)), _parts(scores) | reward_part(scores))
    except RewardFailed as failure:
        if not drops_members(context):
            raise
        context.alert(
            "warning",
            f"member {seed} is left out of the update: the reward of prompt {failure.example_id} failed twice, "
            f"{failure.reason}",
            step,
        )
        return Fitness(math.nan, {})


def drops_members(context: Context) -> bool:
    """Return whether a member whose reward fails is left out of the update."""
    return context.config.es is not None and context.config.es.on_failure == "drop_member"


def _parts(scores: Sequence[Score]) -> dict[str, float]:
    names = dict.fromkeys(name for score in scores for name in score.parts)
    return {name: average(s.parts[name] for s in scores if name in s.parts) for name in names}


def average(numbers: Iterable[float]) -> float:
    """Return the mean, with an exact sum: equal members get equal fitness to the last bit, in any order."""
    listed = list(numbers)
    return math.fsum(listed) / len(listed)


def member_weights(fitness: Sequence[Fitness], es: EsConfig) -> list[float | None]:
    """Return each member's z, None for a dropped one. Raise AllDropped if there is nothing to compare."""
    rewards = [f.reward for f in fitness if not f.dropped]
    if not rewards:
        raise AllDropped("the rewards of all members failed, so that there is nothing to learn from")
    z = iter(shape_fitness(rewards, es.shaping))
    return [None if f.dropped else next(z) for f in fitness]
