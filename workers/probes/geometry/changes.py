"""The change δ = tuned − base of each tensor of a subject, read in slices, and the Gram matrix of a change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from workers.probes.weights import Subject, WeightFiles, WeightsDiffer, open_pair

ELEMENTS_PER_PIECE = 1 << 22
"""Elements of a tensor that are in memory together, unless one row has more."""


class Changes:
    """The changes between two opened checkpoints. `shapes`: name -> shape, in alphabetical order."""

    def __init__(self, base: WeightFiles, tuned: WeightFiles, names: list[str]) -> None:
        self._base, self._tuned = base, tuned
        shapes = base.shapes
        self.shapes = {name: shapes[name] for name in names}

    @property
    def matrices(self) -> list[str]:
        """Return the tensors of two dimensions with at least two rows and two columns."""
        return [name for name, shape in self.shapes.items() if len(shape) == 2 and min(shape) >= 2]

    def pieces(self, name: str) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield (base, δ) of rows of a tensor, one after another, float32 [rows, ...]; a number has the shape [1]."""
        shape = self.shapes[name]
        if not shape:
            base, tuned = self._base.tensor(name).reshape(1), self._tuned.tensor(name).reshape(1)
            yield base, tuned - base
            return
        step = rows_per_piece(shape)
        for first in range(0, shape[0], step):
            last = min(first + step, shape[0])
            base = self._base.rows(name, first, last)
            yield base, self._tuned.rows(name, first, last) - base

    def elements(self, name: str, first: int, last: int) -> Tensor:
        """Return δ of the elements first … last − 1 of a flattened tensor, float32; fewer if it ends before."""
        shape = self.shapes[name]
        if not shape:
            return next(self.pieces(name))[1][first:last]
        width = max(1, math.prod(shape[1:]))
        start, end = first // width, min(-(-last // width), shape[0])
        if start >= end:
            return torch.empty(0)
        # Not in place: rows in float32 may be the memory-mapped file itself.
        rows = self._tuned.rows(name, start, end) - self._base.rows(name, start, end)
        return rows.flatten()[first - start * width : last - start * width]

    def delta(self, name: str) -> Tensor:
        """Return δ of a tensor of at least one dimension, float32; base and tuned are never whole in memory."""
        whole = torch.empty(self.shapes[name])
        first = 0
        for _, delta in self.pieces(name):
            whole[first : first + len(delta)] = delta
            first += len(delta)
        return whole


@contextmanager
def open_changes(subject: Subject) -> Iterator[Changes]:
    """Yield the changes of a subject. Raise WeightsDiffer if it has no base, or one of another architecture."""
    if subject.base is None:
        raise WeightsDiffer(f"{subject} has no base model from which its weights could have changed")
    with open_pair(subject.base, subject.tuned) as (base, tuned, names):
        yield Changes(base, tuned, names)


@contextmanager
def open_both(first: Subject, second: Subject) -> Iterator[tuple[Changes, Changes, list[str]]]:
    """Yield the changes of two subjects, each from its own base, and the names of their tensors. Raise WeightsDiffer if
    their architectures differ; a tied head that only one of them has is left out."""
    with (
        open_changes(first) as one,
        open_changes(second) as other,
        open_pair(first.tuned, second.tuned) as (_, _, names),
    ):
        yield one, other, [name for name in names if name in one.shapes and name in other.shapes]


def gram(changes: Changes, name: str) -> Tensor:
    """Return the smaller Gram matrix of a matrix's change, float64 [s, s] with s = min(rows, columns).

    It is δᵀδ if there are at least as many rows as columns, and δδᵀ if there are fewer.
    """
    rows, columns = changes.shapes[name]
    total = torch.zeros(min(rows, columns), min(rows, columns), dtype=torch.float64)
    if rows >= columns:
        for _, delta in changes.pieces(name):
            part = delta.double()
            total += part.T @ part
        return total
    width = max(1, ELEMENTS_PER_PIECE // rows)
    for columns_of_delta in torch.split(changes.delta(name), width, dim=1):
        part = columns_of_delta.double()
        total += part @ part.T
    return total


def rows_per_piece(shape: tuple[int, ...]) -> int:
    """Return the number of rows of a tensor that are read together."""
    return max(1, ELEMENTS_PER_PIECE // max(1, math.prod(shape[1:])))
