"""Probe `cosine`: the angle between the changes of two subjects, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workers.analysis.pass_at_k import Z
from workers.probes.geometry.changes import Changes, open_both
from workers.probes.geometry.random_walk import shares_noise
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue

Floats = NDArray[np.float64]


def cosine(first: Subject, second: Subject) -> Iterator[Probe]:
    """Yield the cosine of the changes of each tensor and of the whole model; those without a change have none.

    Independent directions in n dimensions have a cosine of mean 0 and variance 1/n: the null band of a tensor is
    ±1.96/√n. That of the whole model is of independent directions with the norms that the tensors have. Raise
    WeightsDiffer if the architectures differ.
    """
    with open_both(first, second) as (changes, others, names):
        products = {name: _products(changes, others, name) for name in names}
        counts = {name: math.prod(changes.shapes[name]) for name in names}
    sizes = np.array([counts[name] for name in names], dtype=np.float64)
    squares, other_squares = (np.array([products[name][i] for name in names]) for i in (1, 2))
    is_shared = shares_noise(first) and shares_noise(second)
    every = {"": np.sum(list(products.values()), axis=0), **products}
    values = []
    for name, sums in every.items():
        if sums[1:].all():
            n = counts[name] if name else sum(counts.values())
            variance = 1 / n if name else whole_variance(sizes, squares, other_squares, is_shared=is_shared)
            values.append(_value(name, n, variance, *map(float, sums)))
    if values:
        yield Probe(first.step, "cosine", "cosine", str(first), tuple(values), other=str(second))


def whole_variance(sizes: Floats, squares: Floats, other_squares: Floats, *, is_shared: bool) -> float:
    """Return the variance of the cosine of two independent changes of all tensors.

    sizes, squares, other_squares: elements and ‖δ‖² of each tensor, [tensors]; s² = ‖δ‖²/n is its mean square. For
    independent elements the variance is Σ n s² s'² / (Σ n s² Σ n s'²), which is 1/n if all tensors have the same s.
    `is_shared`: the tensors of both take their noise from one stream. The number j of it occurs in every tensor that
    has so many elements: with M(j) = Σ s s' over these, the variance is Σⱼ M² / (Σ n s² Σ n s'²).
    """
    scales = np.sqrt(squares * other_squares) / sizes
    ends = np.unique(sizes)
    widths = np.diff(ends, prepend=0.0)
    sums = widths @ ((sizes >= ends[:, None]) @ scales) ** 2 if is_shared else sizes @ scales**2
    return float(sums / (squares.sum() * other_squares.sum()))


def _value(name: str, n: int, variance: float, product: float, square: float, other_square: float) -> ProbeValue:
    band = Z * math.sqrt(variance)
    value = product / math.sqrt(square) / math.sqrt(other_square)
    return ProbeValue(value, n, name, null=0.0, null_low=-band, null_high=band)


def _products(changes: Changes, others: Changes, name: str) -> Floats:
    """Return ⟨δ₁, δ₂⟩, ‖δ₁‖² and ‖δ₂‖² of a tensor."""
    sums = np.zeros(3)
    for (_, one), (_, other) in zip(changes.pieces(name), others.pieces(name), strict=True):
        x, y = one.double(), other.double()
        sums += [float((x * y).sum()), float(x.square().sum()), float(y.square().sum())]
    return sums
