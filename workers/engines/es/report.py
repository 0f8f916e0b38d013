"""Reports an iteration: answers, fitness and update -> records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workers.engines.constraint import ConstraintUpdate
from workers.engines.context import Context
from workers.engines.es.engine_group import BatchAnswers, RemoteGroup
from workers.engines.es.fitness import Fitness, average
from workers.engines.es.phases import PHASES
from workers.engines.es.shaping import TOLERANCE
from workers.engines.es.state import State
from workers.memory_plan.limit import gpu_share
from workers.models.decoder import Completion
from workers.records import Engines, Member, Population


@dataclass
class Answers:
    """The answers of an iteration, [member][prompt], and each member's engine; the centre's, if the task has a cost.

    `seconds` passed until the last answer; `phases` are seconds by phase, added up over all engines.
    """

    members: list[list[Completion]]
    engines: list[int]
    centre: list[Completion] = field(default_factory=list)
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    @classmethod
    def empty(cls, members: int) -> Answers:
        """Return room for the answers of so many members."""
        return cls([[] for _ in range(members)], [0] * members)

    def add(self, answered: BatchAnswers) -> None:
        """Store a batch at its position and count its phases."""
        self.count_phases(answered.phases)
        if not answered.batch.seeds:
            (self.centre,) = answered.answers
            return
        positions = slice(answered.batch.first, answered.batch.first + len(answered.answers))
        self.members[positions] = answered.answers
        self.engines[positions] = [answered.engine] * len(answered.answers)

    def count_phases(self, seconds: Mapping[str, float]) -> None:
        """Add one engine's seconds by phase."""
        for phase, more in seconds.items():
            self.phases[phase] += more

    def completions(self) -> list[Completion]:
        """Return the answers of all members and of the centre."""
        return [*(answer for of_member in self.members for answer in of_member), *self.centre]


@dataclass(frozen=True)
class Iteration:
    """One iteration: its members in order, the norm of its update and its duration, without evaluation."""

    step: int
    seeds: Sequence[int]
    answers: Answers
    fitness: Sequence[Fitness]
    z: Sequence[float | None]
    update_norm: float
    seconds: float
    idle_seconds: float
    """Seconds without work while members were answered and scored, over all engines."""
    scoring_seconds: float
    """Seconds spent in the task's rewards, in a thread while members answer."""
    constraint_update: ConstraintUpdate
    """J_C from the centre's responses, and λ for the next iteration."""
    anchor_distance: float | None = None
    """‖θ − θ₀‖ after the update, with anchored weight decay."""
    kl_seconds: float | None = None
    """Seconds of engine 0 for the KL of the members, if their fitness has it."""

    @property
    def dead(self) -> bool:
        """Return whether all members do equally well, so that the iteration gives no direction."""
        return not any(self.z)


def advance(context: Context, state: State, done: Iteration) -> None:
    """Update the state by the iteration, except its lineage; the first of several dead iterations writes an alert."""
    if done.dead and not state.dead:
        context.alert("warning", _dead(done), done.step)
    completions = done.answers.completions()
    state.step = done.step
    state.dead = done.dead
    state.multiplier = done.constraint_update.multiplier
    state.tokens += sum(len(c.tokens) for c in completions)
    state.samples += len(completions)
    compute = context.config.compute
    state.gpu_seconds += done.seconds * context.loaded.gpus * gpu_share(compute) * compute.nodes


def report(context: Context, state: State, done: Iteration, engines: RemoteGroup) -> None:
    """Write the iteration's metrics, its population and, if there are several, its engines."""
    values = _values(done) | _optional_values(done) | _times(done) | dict(done.constraint_update.values)
    reports = engines.report()
    if reports:
        values["es/update_bytes_per_member"] = engines.update_bytes / len(done.seeds)
    context.metric(done.step, values, state.axes)
    context.records.write(Population(done.step, _members(done, has_engines=bool(reports))))
    if reports:
        context.records.write(Engines(done.step, engines.update_bytes, reports))
    context.log(done.step, values["train/reward/mean"], done.seconds)
    context.status("training", f"iteration {done.step}", done.step / context.config.steps)


def _values(done: Iteration) -> dict[str, float]:
    completions = [answer for of_member in done.answers.members for answer in of_member]
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
    }


def _optional_values(done: Iteration) -> dict[str, float]:
    """Return the values of settings that are off by default: es.anchor_decay and es.kl_beta."""
    values: dict[str, float] = {}
    if done.anchor_distance is not None:
        values["es/anchor_distance"] = done.anchor_distance
    if done.kl_seconds is not None:
        values["train/kl/mean"] = average(f.kl for f in done.fitness if f.kl is not None)
        values["time/kl_seconds"] = done.kl_seconds
    return values


def _times(done: Iteration) -> dict[str, float]:
    """Return the tokens generated per second of answering, and the seconds of the iteration and of its phases."""
    tokens = sum(len(completion.tokens) for completion in done.answers.completions())
    return {
        "es/tokens_per_second": tokens / done.answers.seconds,
        "time/step_seconds": done.seconds,
        "time/engine_idle_seconds": done.idle_seconds,
        "time/scoring_seconds": done.scoring_seconds,
        **{f"time/{phase}_seconds": seconds for phase, seconds in done.answers.phases.items()},
    }


def _members(done: Iteration, *, has_engines: bool) -> tuple[Member, ...]:
    """Return the records of the members. A negative seed is the mirror image of its positive twin."""
    engines: Sequence[int | None] = done.answers.engines if has_engines else [None] * len(done.seeds)
    judged = zip(done.seeds, done.fitness, done.z, engines, strict=True)
    return tuple(Member(seed, fitness.reward, fitness.parts, z, engine) for seed, fitness, z, engine in judged)


def _dead(done: Iteration) -> str:
    reward = next(f.reward for f in done.fitness if not f.dropped)
    result = "stay unchanged" if done.anchor_distance is None else "only decay towards the base model"
    return (
        f"dead iteration: every member has the fitness {reward:.4g}, or differs by at most {TOLERANCE:g} of it, so "
        f"the weights {result}. A larger sigma or more prompts distinguish members. Further dead iterations are "
        "counted in es/dead."
    )
