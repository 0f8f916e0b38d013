"""Cosines of the changes of pairs of tensors of one model, in memory that does not grow with the tensors.

Two tensors of equally many elements are compared in all of them, as flat vectors. Two others are compared in as many of
their first elements as both have, but at most 65 536: a generator that is seeded again for each gives both the same
start of a stream. Products are made in float32, from slices of the files, and summed in float64.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workers.probes.geometry.changes import Changes

PREFIX = 1 << 16
"""First elements that tensors of different sizes are compared in."""
MIN_ELEMENTS = 64
"""Tensors of fewer elements are not compared: their cosines are large by chance."""
SLICE_BYTES = 1 << 28
"""Bytes of slices of all tensors of a group that are in memory together."""
COLUMNS_PER_PRODUCT = 1 << 16
"""Elements that are summed in float32 before the sum continues in float64."""
SAMPLED_ROWS = 64
"""Rows of a matrix from which it is estimated how far its rank is from that of independent elements."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cosines:
    """Pairs of tensors `names[first]`, `names[second]`, the cosine of their changes in n elements, and `kurtosis`.

    first, second, n: int64[pairs]; cosine: float64[pairs]. `has_vector`, bool[pairs], says that one of the two has a
    single dimension, such as a norm or a bias. `kurtosis`, float64[pairs] from 0 to 1, is the share of the
    excess kurtosis of a product of two normal numbers that the cosine has by chance: 1 for changes of rank 1, 0 for
    independent elements (`tail.py`). `unchanged` and `small` are the tensors that are not compared.
    """

    names: list[str]
    first: Ints
    second: Ints
    cosine: Floats
    n: Ints
    has_vector: NDArray[np.bool_]
    kurtosis: Floats
    unchanged: list[str]
    small: list[str]


def cosines(changes: Changes) -> Cosines:
    """Return the cosines of all pairs of tensors that changed."""
    sizes = {name: math.prod(shape) for name, shape in changes.shapes.items()}
    small = [name for name, size in sizes.items() if size < MIN_ELEMENTS]
    groups = defaultdict(list)
    for name in sorted(sizes.keys() - set(small)):
        groups[sizes[name]].append(name)
    grams = {size: _gram(changes, group, size) for size, group in groups.items() if len(group) > 1}
    is_changed = {
        name: bool(grams[size][i, i] > 0) if size in grams else _has_changed(changes, name)
        for size, group in groups.items()
        for i, name in enumerate(group)
    }
    names = sorted(name for name, changed in is_changed.items() if changed)
    first, second = np.triu_indices(len(names), 1)
    size_of = np.array([sizes[name] for name in names], dtype=np.int64)
    n = np.minimum(np.minimum(size_of[first], size_of[second]), PREFIX)
    cosine = _prefix_cosines(changes, names, size_of, first, second, n)
    position = {name: i for i, name in enumerate(names)}
    for size, gram in grams.items():
        own = [i for i, name in enumerate(groups[size]) if name in position]
        at = np.array([position[groups[size][i]] for i in own], dtype=np.int64)
        is_whole = (size_of[first] == size) & (size_of[second] == size)
        rows, columns = (np.array(own, dtype=np.int64)[np.searchsorted(at, side[is_whole])] for side in (first, second))
        cosine[is_whole] = gram[rows, columns] / np.sqrt(gram[rows, rows] * gram[columns, columns])
        n[is_whole] = size
    kurtosis = _kurtosis(changes, names, first, second)
    unchanged = sorted(name for name, changed in is_changed.items() if not changed)
    is_vector = np.array([len(changes.shapes[name]) < 2 for name in names], dtype=np.bool_)
    has = np.isfinite(cosine)
    first, second = first[has], second[has]
    has_vector = is_vector[first] | is_vector[second]
    return Cosines(names, first, second, cosine[has], n[has], has_vector, kurtosis[has], unchanged, small)


def _gram(changes: Changes, group: Sequence[str], size: int) -> Floats:
    """Return the inner products of the changes of tensors of one size, float64 [tensors, tensors]."""
    total = torch.zeros(len(group), len(group), dtype=torch.float64)
    width = _slice_width(len(group))
    for first in range(0, size, width):
        total += _products(_slices(changes, group, first, min(first + width, size)))
    products: Floats = total.numpy()
    return products


def _prefix_cosines(changes: Changes, names: Sequence[str], sizes: Ints, first: Ints, second: Ints, n: Ints) -> Floats:
    """Return the cosine of the first n elements of each pair; NaN if one of the two did not change in them."""
    if not len(first):
        return np.zeros(0)
    # Beyond its end a tensor counts as zeros, so that only the norms depend on the number of elements.
    total = torch.zeros(len(names), len(names), dtype=torch.float64)
    squares = {}
    ends = sorted({min(int(size), PREFIX) for size in sizes})
    width = _slice_width(len(names))
    for begin, end in pairwise([0, *ends]):
        for start in range(begin, end, width):
            total += _products(_slices(changes, names, start, min(start + width, end)))
        squares[end] = total.diagonal().clone().numpy()
    lengths = np.array([squares[int(end)] for end in ends])
    row = np.searchsorted(np.array(ends), n)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine: Floats = total.numpy()[first, second] / np.sqrt(lengths[row, first] * lengths[row, second])
    cosine[(lengths[row, first] == 0) | (lengths[row, second] == 0)] = np.nan
    return cosine


def _slice_width(tensors: int) -> int:
    return max(1, SLICE_BYTES // (4 * tensors))


def _slices(changes: Changes, names: Sequence[str], first: int, last: int) -> Tensor:
    """Return elements first … last − 1 of each tensor's change, float32 [tensors, elements], zeros beyond its end."""
    slices = torch.zeros(len(names), last - first)
    for row, name in zip(slices, names, strict=True):
        part = changes.elements(name, first, last)
        row[: len(part)] = part
    return slices


def _products(slices: Tensor) -> Tensor:
    """Return the inner products of rows, float64 [rows, rows]."""
    total = torch.zeros(len(slices), len(slices), dtype=torch.float64)
    for part in torch.split(slices, COLUMNS_PER_PRODUCT, dim=1):
        total += part @ part.T
    return total


def _has_changed(changes: Changes, name: str) -> bool:
    return any(bool(delta.any()) for _, delta in changes.pieces(name))


def _kurtosis(changes: Changes, names: Sequence[str], first: Ints, second: Ints) -> Floats:
    """Return the share of excess kurtosis of each pair's cosine.

    For two fixed spectra and independent directions, ⟨X, Y⟩/(‖X‖‖Y‖) √n is about Σ wₐᵦ Gₐᵦ Hₐᵦ of independent normal G
    and H with wₐᵦ = σₐτᵦ/(‖X‖‖Y‖). Its excess kurtosis is 6 Σ w⁴ = 6 ρ(X) ρ(Y), for ρ = Σσ⁴/(Σσ²)². If the lengths of
    the rows differ, X in the shape of Y has an unknown ρ of at most 1, and the smaller ρ is a bound.
    """
    if not names:
        return np.zeros(0)
    rho = np.array([concentration(changes, name) for name in names])
    widths = np.array([math.prod(changes.shapes[name][1:]) for name in names])
    has_equal_rows = widths[first] == widths[second]
    bound: Floats = np.where(has_equal_rows, rho[first] * rho[second], np.minimum(rho[first], rho[second]))
    return bound


def concentration(changes: Changes, name: str) -> float:
    """Return ρ of the first rows of a change, scaled so that independent elements have 0 and a rank of 1 has 1.

    Independent normal elements [m, n] have ρ = (m + n + 1)/(mn + 2) on average.
    """
    shape = changes.shapes[name]
    columns = math.prod(shape[1:])
    if not shape or columns == 1:
        return 0.0
    delta = changes.elements(name, 0, min(shape[0], SAMPLED_ROWS) * columns).double().reshape(-1, columns)
    rows = len(delta)
    gram = delta @ delta.T if rows <= columns else delta.T @ delta
    if rows == 1 or not (trace := float(gram.trace())):
        return 0.0
    rho, expected = float(gram.square().sum()) / trace**2, (rows + columns + 1) / (rows * columns + 2)
    return min(1.0, max(0.0, (rho - expected) / (1 - expected)))
