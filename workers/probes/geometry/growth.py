"""Growth of the norm of the change with the steps of a run: a curve, and its exponent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from workers.analysis.student_t import t_quantile
from workers.engines.es.noise import VERSION
from workers.engines.es.rebuild import apply_updates, load_base, load_trainable
from workers.engines.es.replay_history import Trail
from workers.probes.geometry.changes import open_changes
from workers.probes.geometry.random_walk import RandomWalk
from workers.probes.weights import Subject
from workers.records import ProbeValue

MIN_STEPS = 3
"""Steps that an exponent needs: with two, its interval has no degree of freedom."""


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


def growth_exponent(curve: Sequence[ProbeValue], *, is_random_walk: bool) -> ProbeValue | None:
    """Return the slope of log norm on log step with its 95 % t interval; None for fewer than three steps with a change.

    A random walk of equal steps grows with exponent 0.5, a steady drift with 1; the null is 0.5, and missing if the
    null model is no such walk, as with anchored decay.
    """
    logs = [(math.log(v.x), math.log(v.value)) for v in curve if v.x and v.value > 0]
    if len(logs) < MIN_STEPS:
        return None
    x, y = torch.tensor(logs, dtype=torch.float64).T
    spread = float((x - x.mean()).square().sum())
    slope = float(((x - x.mean()) * y).sum()) / spread
    residuals = y - y.mean() - slope * (x - x.mean())
    freedom = len(logs) - 2
    half = t_quantile(freedom) * math.sqrt(float(residuals.square().sum()) / freedom / spread)
    null = 0.5 if is_random_walk else None
    return ProbeValue(slope, len(logs), low=slope - half, high=slope + half, null=null)


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
