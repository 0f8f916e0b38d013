"""Probe `overlap`: how much the subspaces of the first singular vectors of two subjects' changes have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from workers.analysis.student_t import t_quantile
from workers.probes.geometry.changes import Changes, gram, open_both
from workers.probes.geometry.nulls import Null
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue

RANK_TOLERANCE = 1e-6
"""Singular vectors count if their σ is above this share of σ₁, so that those of rounding are left out."""


def overlap(first: Subject, second: Subject, rank: int, draws: int, seed: int) -> Iterator[Probe]:
    """Yield overlap_out and overlap_in: ‖U₁ᵀU₂‖²_F/k of the first k left and right singular vectors of each matrix.

    k is `rank`, but at most half of the smaller side, and no more than both changes have. The null are random subspaces
    of k dimensions among m (the side's length): their overlap is k/m on average. Raise WeightsDiffer if the
    architectures differ.
    """
    sides: dict[str, list[ProbeValue]] = {"overlap_out": [], "overlap_in": []}
    nulls: dict[tuple[int, int], Null] = {}
    with open_both(first, second) as (changes, others, names):
        for name in (name for name in changes.matrices if name in names):
            most = max(1, min(rank, min(changes.shapes[name]) // 2))
            pairs = list(zip(singular_vectors(changes, name, most), singular_vectors(others, name, most), strict=True))
            k = min(vectors.shape[1] for pair in pairs for vectors in pair)
            if not k:
                continue
            for values, (u, v) in zip(sides.values(), pairs, strict=True):
                key = len(u), k
                if key not in nulls:
                    nulls[key] = _random_overlap(*key, draws, seed)
                n = math.prod(changes.shapes[name])
                values.append(nulls[key].add_to(ProbeValue(subspace_overlap(u[:, :k], v[:, :k]), n, name)))
    for measure, values in sides.items():
        if values:
            yield Probe(first.step, "overlap", measure, str(first), tuple(values), other=str(second))


def subspace_overlap(u: Tensor, v: Tensor) -> float:
    """Return ‖UᵀV‖²_F/k of two orthonormal bases, float64 [m, k]: 1 for one subspace, 0 for orthogonal ones."""
    return float((u.T @ v).square().sum()) / u.shape[1]


def singular_vectors(changes: Changes, name: str, count: int) -> tuple[Tensor, Tensor]:
    """Return the first left and right singular vectors of a matrix's change, float64 [rows, k] and [columns, k].

    k ≤ count is the number of those with σ > 1e-6 σ₁. The eigenvectors of the smaller Gram matrix are those of one
    side; the product with the change gives the other side.
    """
    squares, vectors = torch.linalg.eigh(gram(changes, name))
    squares, vectors = squares.flip(0)[:count], vectors.flip(1)[:, :count]
    k = int((squares > squares[0] * RANK_TOLERANCE**2).sum()) if squares[0] > 0 else 0
    near = vectors[:, :k]
    rows, columns = changes.shapes[name]
    if rows >= columns:
        far = torch.cat([delta.double() @ near for _, delta in changes.pieces(name)])
        return _orthonormal(far), near
    far, first = torch.zeros(columns, k, dtype=torch.float64), 0
    for _, delta in changes.pieces(name):
        far += delta.double().T @ near[first : first + len(delta)]
        first += len(delta)
    return near, _orthonormal(far)


def _orthonormal(vectors: Tensor) -> Tensor:
    """Return an orthonormal basis of the first columns; rounding has left them only nearly orthogonal."""
    basis: Tensor = torch.linalg.qr(vectors)[0]
    return basis


def _random_overlap(side: int, k: int, draws: int, seed: int) -> Null:
    """Return the mean overlap k/side of random subspaces, and the 95 % prediction interval from draws of them.

    The mean is known, so that the interval is k/side ± t sd with the deviation from it and as many degrees of freedom
    as draws. One subspace may be that of the first k axes, as the other has every direction alike.
    """
    generator = np.random.default_rng([seed, side, k])
    mean = k / side
    squares = 0.0
    for _ in range(draws):
        basis = _orthonormal(torch.from_numpy(generator.standard_normal((side, k))))
        squares += (float(basis[:k].square().sum()) / k - mean) ** 2
    half = t_quantile(draws) * math.sqrt(squares / draws)
    return Null(mean, max(0.0, mean - half), min(1.0, mean + half))
