"""Growth of the norm of the change with the steps of a run: a curve, and its exponent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from workers.engines.es.noise import VERSION
from workers.engines.es.rebuild import apply_updates, load_base, load_trainable
from workers.engines.es.replay_history import Trail
from workers.probes.geometry.changes import open_changes
from workers.probes.geometry.random_walk import RandomWalk, Shape
from workers.probes.geometry.simulated_walks import log_slopes, simulate_norms
from workers.probes.weights import Subject
from workers.records import ProbeValue

MIN_STEPS = 3
"""Steps that an exponent needs: any two lie on a line."""


def norms_by_step(subject: Subject, points: int, trail: Trail | None) -> list[ProbeValue]:
    """Return the norm of the change of the whole model at steps (x), in order; step 0 is left out.

    With a trail that this code can replay, the steps are spread evenly over it, the last one included, and the null is
    the random walk up to each. Otherwise they are the saved checkpoints up to the subject's step, without a null.
    """
    if trail is not None and all(line.start.noise.version == VERSION for line in trail.written):
        return _replayed(subject, trail, spread_steps([line.update.step for line in trail.written], points))
    folders = {step: folder for step, folder in subject.saved.items() if 0 < step < subject.step}
    if subject.step > 0:
        folders[subject.step] = subject.tuned
    return [_saved(Subject(subject.name, step, folders[step], subject.base)) for step in sorted(folders)]


def spread_steps(logged: Sequence[int], points: int) -> list[int]:
    """Return at most `points` − 1 of the steps, spread evenly from step 0, which is left out, to the last."""
    available = [0, *sorted(set(logged))]
    last = len(available) - 1
    return sorted({available[round(j * last / (points - 1))] for j in range(points)} - {0})


def growth_exponent(
    curve: Sequence[ProbeValue], walk_up_to: Callable[[int], RandomWalk] | None, shapes: Mapping[str, Shape]
) -> ProbeValue | None:
    """Return the slope of log norm on log step; None for fewer than three steps with a change.

    `walk_up_to` returns the random walk of the run's own coefficients up to a step. The null is the median slope of
    such walks, the band contains 95 % of their slopes, and the interval is the slope ± how far theirs lie from their
    median. Without it the null is 0.5, that of a random walk of equal steps, and how far chance moves the slope is
    unknown. A steady drift has 1.
    """
    points = [value for value in curve if value.x and value.value > 0]
    if len(points) < MIN_STEPS:
        return None
    steps = [value.x or 0.0 for value in points]
    slope = float(log_slopes(steps, np.array([[value.value for value in points]]))[0])
    exponent = ProbeValue(slope, len(points), null=0.5)
    if walk_up_to is None:
        return exponent
    walks = [walk_up_to(round(step)) for step in steps]
    dimensions = walks[-1].dimensions(shapes)
    if dimensions is None:
        return replace(exponent, null=None)
    low, null, high = map(float, np.quantile(log_slopes(steps, simulate_norms(walks, dimensions)), (0.025, 0.5, 0.975)))
    return replace(
        exponent, low=slope - (high - null), high=slope + (null - low), null=null, null_low=low, null_high=high
    )


@torch.no_grad()
def _replayed(subject: Subject, trail: Trail, steps: Sequence[int]) -> list[ProbeValue]:
    """Return the norms of the float32 master, which a model in 16 bits holds only in part."""
    weights = load_trainable(load_base(trail, subject.base, "auto"), trail)
    start = {name: parameter.detach().clone() for name, parameter in weights.base.items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in start.items()}
    n = sum(map(math.prod, shapes.values()))
    values = []
    for before, step in pairwise([0, *steps]):
        part = [line for line in trail.written if before < line.update.step <= step]
        apply_updates(part, weights, trail.origin.scales)
        null = RandomWalk.up_to(trail, step).model_null(shapes)
        norm = math.sqrt(math.fsum(_squared_differences(weights.master, start)))
        values.append(null.add_to(ProbeValue(norm, n, x=float(step))))
    return values


def _squared_differences(master: Mapping[str, Tensor], start: Mapping[str, Tensor]) -> Iterator[float]:
    for name, tensor in master.items():
        yield float((tensor - start[name].float()).double().square().sum())


def _saved(subject: Subject) -> ProbeValue:
    with open_changes(subject) as changes:
        pieces = (delta for name in changes.shapes for _, delta in changes.pieces(name))
        norm = math.sqrt(math.fsum(float(delta.double().square().sum()) for delta in pieces))
        return ProbeValue(norm, sum(map(math.prod, changes.shapes.values())), x=float(subject.step))
