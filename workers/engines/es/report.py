"""What an iteration was like -> records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from workers.engines.constraint import Measured
from workers.engines.context import Context
from workers.engines.es.fitness import Fitness, average
from workers.engines.es.shaping import TOLERANCE
from workers.engines.es.state import State
from workers.models.decoder import Completion
from workers.records import Member, Population


@dataclass(frozen=True)
class Iteration:
    """One iteration: its members in order, the norm of its update and how long it took, evaluation excluded."""

    step: int
    seeds: Sequence[int]
    answers: Sequence[Sequence[Completion]]
    fitness: Sequence[Fitness]
    z: Sequence[float | None]
    update_norm: float
    seconds: float
    centre: Sequence[Completion] = ()
    """What the unperturbed weights answered, where the task asks for it."""
    measured: Measured = field(default_factory=Measured)
    """What they told: J_C, and λ for the next iteration."""

    @property
    def dead(self) -> bool:
        """Members that all do equally well say nothing about where to go."""
        return not any(self.z)


def advance(context: Context, state: State, done: Iteration) -> None:
    """Takes the iteration into the state, but for the lineage; an alert tells of the first of several dead ones."""
    if done.dead and not state.dead:
        context.alert("warning", _dead(done), done.step)
    completions = [*_completions(done), *done.centre]
    state.step = done.step
    state.dead = done.dead
    state.multiplier = done.measured.multiplier
    state.tokens += sum(len(c.tokens) for c in completions)
    state.samples += len(completions)
    state.gpu_seconds += done.seconds * context.loaded.gpus


def report(context: Context, state: State, done: Iteration) -> None:
    """Writes the iteration's metrics and its population."""
    values = _values(done, _completions(done)) | dict(done.measured.values)
    context.metric(done.step, values, state.axes)
    context.records.write(Population(done.step, _members(done)))
    context.log(done.step, values["train/reward/mean"], done.seconds)
    context.status("training", f"iteration {done.step}", done.step / context.config.steps)


def _completions(done: Iteration) -> list[Completion]:
    return [answer for of_member in done.answers for answer in of_member]


def _values(done: Iteration, completions: Sequence[Completion]) -> dict[str, float]:
    rewards = [f.reward for f in done.fitness if not f.dropped]
    mean = average(rewards)
    return {
        "train/reward/mean": mean,
        "train/reward/std": math.sqrt(average((r - mean) ** 2 for r in rewards)),
        "train/reward/min": min(rewards),
        "train/reward/max": max(rewards),
        "train/response/tokens_mean": average(len(c.tokens) for c in completions),
        "train/response/clipped_ratio": average(float(c.clipped) for c in completions),
        "es/dead": float(done.dead),
        "es/dropped": float(len(done.fitness) - len(rewards)),
        "es/update_norm": done.update_norm,
        "time/step_seconds": done.seconds,
    }


def _members(done: Iteration) -> tuple[Member, ...]:
    """A negative seed is the mirror image of its positive twin."""
    judged = zip(done.seeds, done.fitness, done.z, strict=True)
    return tuple(Member(seed, fitness.reward, fitness.parts, z) for seed, fitness, z in judged)


def _dead(done: Iteration) -> str:
    reward = next(f.reward for f in done.fitness if not f.dropped)
    return (
        f"dead iteration: every member has the fitness {reward:.4g}, or differs by at most {TOLERANCE:g} of it, so "
        "that the weights stay as they are. A larger sigma or more prompts tell members apart. Dead iterations that "
        "follow are counted in es/dead."
    )
