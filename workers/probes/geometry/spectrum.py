"""Probe `spectrum`: ranks of each matrix's change, and how evenly the elements of each tensor changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from workers.analysis.pass_at_k import Z
from workers.probes.geometry.changes import Changes, gram, open_changes
from workers.probes.geometry.nulls import Null, null_of_draws
from workers.probes.geometry.random_walk import shares_noise
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue

GAUSSIAN_DENSITY = 2 / math.pi
"""(E|z|)² / E z² of a normal number z."""
KINDS = ("effective", "stable")


@dataclass(frozen=True)
class Ranks:
    """exp of the entropy of σᵢ/Σσ (Roy and Vetterli, "The effective rank", 2007), and ‖δ‖²_F/σ₁²."""

    effective: float
    stable: float


def spectrum(subject: Subject, draws: int, seed: int) -> Iterator[Probe]:
    """Yield effective_rank, stable_rank, density and unchanged. Raise WeightsDiffer.

    The null of the ranks are `draws` Gaussian matrices of the tensor's shape, that of the density are independent
    normal elements of one variance; there is no band for the whole model if its tensors share their noise. A tensor
    that did not change has no rank and no density.
    """
    with open_changes(subject) as changes:
        counts = {name: _Counts.of_pieces(changes.pieces(name)) for name in changes.shapes}
        ranks = {name: ranks_of(gram(changes, name)) for name in changes.matrices if counts[name].squares > 0}
        nulls = {sides: _rank_nulls(*sides, draws, seed) for sides in sorted({_sides(changes, name) for name in ranks})}
        rank_nulls = {name: nulls[_sides(changes, name)] for name in ranks}
    step, name_of_subject = subject.step, str(subject)
    for kind in KINDS if ranks else ():
        values = [
            rank_nulls[name][kind].add_to(ProbeValue(getattr(r, kind), counts[name].n, name))
            for name, r in ranks.items()
        ]
        yield Probe(step, "spectrum", f"{kind}_rank", name_of_subject, tuple(values))
    every = {"": sum(counts.values(), _Counts(0, 0, 0.0, 0.0)), **counts}
    densities = tuple(c.density(name) for name, c in every.items() if c.squares > 0)
    if densities and shares_noise(subject):
        # The elements of the whole model are not independent then.
        densities = (replace(densities[0], null_low=None, null_high=None), *densities[1:])
    if densities:
        yield Probe(step, "spectrum", "density", name_of_subject, densities)
    unchanged = tuple(ProbeValue(c.zeros / c.n, c.n, name) for name, c in every.items() if c.n)
    yield Probe(step, "spectrum", "unchanged", name_of_subject, unchanged)


def ranks_of(gram_matrix: Tensor) -> Ranks:
    """Return the ranks of a matrix that is not zero, from its smaller Gram matrix, float64 [s, s].

    Eigenvalues below what rounding in float64 makes, σ ≤ σ₁ √(s ε), count as zero.
    """
    squares = torch.linalg.eigvalsh(gram_matrix)
    squares = squares[squares > squares[-1] * len(squares) * torch.finfo(torch.float64).eps]
    shares = squares.sqrt() / squares.sqrt().sum()
    return Ranks(math.exp(float(-(shares * shares.log()).sum())), float(squares.sum() / squares[-1]))


def gaussian_gram(rows: int, columns: int, generator: np.random.Generator) -> Tensor:
    """Return the smaller Gram matrix of a random matrix of independent standard normal elements, without making it.

    It is L Lᵀ with a lower triangle L of independent normal numbers and a diagonal of √χ² with max(rows, columns) − i
    degrees of freedom (Bartlett 1933).
    """
    small, large = sorted((rows, columns))
    lower = np.tril(generator.standard_normal((small, small)), -1)
    lower[np.diag_indices(small)] = np.sqrt(generator.chisquare(large - np.arange(small)))
    triangle = torch.from_numpy(lower)
    return triangle @ triangle.T


@dataclass(frozen=True)
class _Counts:
    """Elements of a tensor, those that did not change, Σ|δ| and Σδ²."""

    n: int
    zeros: int
    absolutes: float
    squares: float

    @classmethod
    def of_pieces(cls, pieces: Iterator[tuple[Tensor, Tensor]]) -> _Counts:
        total = cls(0, 0, 0.0, 0.0)
        for _, delta in pieces:
            double = delta.double()
            zeros = delta.numel() - int(torch.count_nonzero(delta))
            total += cls(delta.numel(), zeros, float(double.abs().sum()), float(double.square().sum()))
        return total

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(
            self.n + other.n,
            self.zeros + other.zeros,
            self.absolutes + other.absolutes,
            self.squares + other.squares,
        )

    def density(self, name: str) -> ProbeValue:
        """Return (Σ|δ|)²/(nΣδ²) with its null for independent normal elements.

        Its mean is exactly 2/π + (1 − 2/π)/n, as the direction of a normal vector is independent of its length; its
        variance is (4q − 6q²)/n with q = 2/π, to the first order (delta method).
        """
        q = GAUSSIAN_DENSITY
        null = q + (1 - q) / self.n
        half = Z * math.sqrt((4 * q - 6 * q * q) / self.n)
        value = self.absolutes**2 / (self.n * self.squares)
        return ProbeValue(value, self.n, name, null=null, null_low=null - half, null_high=min(1.0, null + half))


def _sides(changes: Changes, name: str) -> tuple[int, int]:
    small, large = sorted(changes.shapes[name])
    return small, large


def _rank_nulls(small: int, large: int, draws: int, seed: int) -> dict[str, Null]:
    """Return the null of each kind of rank of Gaussian matrices with these sides."""
    generator = np.random.default_rng([seed, small, large])
    ranks = [ranks_of(gaussian_gram(small, large, generator)) for _ in range(draws)]
    return {kind: null_of_draws([getattr(r, kind) for r in ranks]) for kind in KINDS}
