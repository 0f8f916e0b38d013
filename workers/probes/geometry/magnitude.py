"""Probe `magnitude`: the norm of each tensor's change, and how the norm of all of them grew with the steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from torch import Tensor

from workers.probes.geometry.changes import open_changes
from workers.probes.geometry.growth import growth_exponent, norms_by_step
from workers.probes.geometry.nulls import Null
from workers.probes.geometry.random_walk import RandomWalk, walk_trail
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue


def magnitude(subject: Subject, points: int) -> Iterator[Probe]:
    """Yield norm, relative_norm, norm_by_step at about `points` steps, and growth_exponent if there are enough steps.

    For ES runs whose replay log is complete, the null is a random walk (`random_walk.py`). Raise WeightsDiffer, and
    CannotReplay if the base model is not what the replay log says.
    """
    trail = walk_trail(subject)
    walk = RandomWalk.up_to(trail, subject.step) if trail else None
    with open_changes(subject) as changes:
        shapes = changes.shapes
        squares = {name: _squared_norms(changes.pieces(name)) for name in shapes}
    totals = math.fsum(b for b, _ in squares.values()), math.fsum(d for _, d in squares.values())
    norms, relative_norms = [], []
    for name, (base, delta) in {"": totals, **squares}.items():
        n = math.prod(shapes[name]) if name else sum(map(math.prod, shapes.values()))
        null = Null() if walk is None else walk.tensor_null(name, shapes[name]) if name else walk.model_null(shapes)
        norms.append(null.add_to(ProbeValue(math.sqrt(delta), n, name)))
        if base > 0:
            relative = ProbeValue(math.sqrt(delta / base), n, name)
            relative_norms.append(null.divided_by(math.sqrt(base)).add_to(relative))
    yield Probe(subject.step, "magnitude", "norm", str(subject), tuple(norms))
    if relative_norms:
        yield Probe(subject.step, "magnitude", "relative_norm", str(subject), tuple(relative_norms))
    if curve := norms_by_step(subject, points, trail):
        yield Probe(subject.step, "magnitude", "norm_by_step", str(subject), tuple(curve))
    if exponent := growth_exponent(curve, partial(RandomWalk.up_to, trail) if trail else None, shapes):
        yield Probe(subject.step, "magnitude", "growth_exponent", str(subject), (exponent,))


def _squared_norms(pieces: Iterator[tuple[Tensor, Tensor]]) -> tuple[float, float]:
    """Return ‖base‖² and ‖δ‖² of a tensor."""
    base_square = delta_square = 0.0
    for base, delta in pieces:
        base_square += float(base.double().square().sum())
        delta_square += float(delta.double().square().sum())
    return base_square, delta_square
