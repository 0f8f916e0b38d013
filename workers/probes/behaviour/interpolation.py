"""Reward along the straight line between two models: is there a barrier between them?

θ(t) = (1 − t) A + t B, computed in float32 from both masters and cast once to the model's precision. The ends are the
weights of the two folders themselves, so that their rewards are those of the checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from workers.probes.behaviour.paired import barrier_value, reward_values
from workers.probes.behaviour.prompted_model import Check, Progress, PromptedModel, Values, rewards
from workers.probes.weights import Subject, WeightFiles
from workers.records import Probe

NAME = "interpolation"


@dataclass(frozen=True)
class End:
    """An end of the line: the weights of a folder. `name` is <uid>@<step>, or base for the base model."""

    name: str
    step: int
    folder: Path

    @classmethod
    def base_of(cls, subject: Subject) -> End | None:
        """Return the base model of a subject; None if it is not known."""
        return cls("base", 0, subject.base) if subject.base else None

    @classmethod
    def tuned_of(cls, subject: Subject) -> End:
        """Return the weights of a subject."""
        return cls(str(subject), subject.step, subject.tuned)


def interpolation(
    model: PromptedModel,
    first: End,
    second: End,
    points: int,
    seed: int,
    check: Check,
    progress: Progress | None = None,
) -> Iterator[Probe]:
    """Yield the measures reward and barrier of `points` equally spaced models from `first` (t = 0) to `second` (t = 1).

    `points` is at least 3. The model has the weights of `second` afterwards. Raise WeightsDiffer if the weights are not
    those of one architecture, which is the model's, and RewardFailed.
    """
    positions = [i / (points - 1) for i in range(points)]
    by_position = []
    with WeightFiles(first.folder) as start, WeightFiles(second.folder) as end:
        model.check_shapes(start)
        model.check_shapes(end)
        start.hold(model.loaded.device)
        end.hold(model.loaded.device)
        for t in positions:
            check()
            if progress:
                progress(f"interpolation at t = {t:.3g} from {first.name} to {second.name}", t)
            model.write(_on_line(start, end, t))
            by_position.append(rewards(model.greedy()))
    measured = np.stack(by_position)
    values = {
        "reward": reward_values(measured, positions, seed),
        "barrier": (barrier_value(measured, positions, seed),),
    }
    for measure, of_measure in values.items():
        yield Probe(first.step, NAME, measure, first.name, of_measure, other=second.name)


def _on_line(start: WeightFiles, end: WeightFiles, t: float) -> Values:
    """Return the weights at t by name, in float32; at the ends without arithmetic."""
    if t in (0.0, 1.0):
        return (end if t else start).tensor

    def between(name: str) -> Tensor:
        return (1 - t) * start.tensor(name) + t * end.tensor(name)

    return between
