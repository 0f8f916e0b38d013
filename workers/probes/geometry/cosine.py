"""Probe `cosine`: the angle between the changes of two subjects, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from workers.analysis.pass_at_k import Z
from workers.probes.geometry.changes import Changes, open_both
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue


def cosine(first: Subject, second: Subject) -> Iterator[Probe]:
    """Yield the cosine of the changes of each tensor and of the whole model; those without a change have none.

    Independent directions in n dimensions have a cosine of mean 0 and variance 1/n: the null band is ±1.96/√n. Raise
    WeightsDiffer if the architectures differ.
    """
    with open_both(first, second) as (changes, others, names):
        products = {name: _products(changes, others, name) for name in names}
        counts = {name: math.prod(changes.shapes[name]) for name in names}
    every = {"": np.sum(list(products.values()), axis=0), **products}
    counts[""] = sum(counts.values())
    values = [_value(name, counts[name], *map(float, sums)) for name, sums in every.items() if sums[1:].all()]
    if values:
        yield Probe(first.step, "cosine", "cosine", str(first), tuple(values), other=str(second))


def _value(name: str, n: int, product: float, square: float, other_square: float) -> ProbeValue:
    band = Z / math.sqrt(n)
    value = product / math.sqrt(square) / math.sqrt(other_square)
    return ProbeValue(value, n, name, null=0.0, null_low=-band, null_high=band)


def _products(changes: Changes, others: Changes, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return ⟨δ₁, δ₂⟩, ‖δ₁‖² and ‖δ₂‖² of a tensor."""
    sums = np.zeros(3)
    for (_, one), (_, other) in zip(changes.pieces(name), others.pieces(name), strict=True):
        x, y = one.double(), other.double()
        sums += [float((x * y).sum()), float(x.square().sum()), float(y.square().sum())]
    return sums
