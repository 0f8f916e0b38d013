"""Noise that tensors share at other positions: cross-correlations of blocks of their changes at all lags, by FFT.

A stream that is rolled by some elements, or that one tensor begins where another is in the middle, has cosines near
zero element by element. Here the signs of the changes are compared, so that a few large rows, as gradients have them,
do not decide a cosine. Tensors are sampled: blocks of 8192 elements, at most 96 of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workers.probes.audit.cosines import MIN_ELEMENTS, concentration
from workers.probes.geometry.changes import Changes

BLOCK = 1 << 13
"""Elements of a block."""
MIN_COSINE = 0.5
MAX_BLOCKS, MAX_BLOCKS_PER_TENSOR = 96, 3
"""The blocks of a tensor are its first, its last and one between them, if there are few tensors."""


@dataclass(frozen=True)
class Block:
    """Elements `first` … of a tensor: the signs of their changes, and the concentration of its singular values."""

    tensor: str
    first: int
    signs: Tensor
    concentration: float


@dataclass(frozen=True)
class ShiftedPair:
    """Two blocks and the lag at which they agree most: element i of `first` with element i + `lag` of `second`, both
    counted in their tensors. The cosine is that of the signs of n elements; `kurtosis` as in `Cosines`."""

    first: str
    second: str
    lag: int
    cosine: float
    n: int
    kurtosis: float


@dataclass(frozen=True)
class Shifted:
    """The pairs of blocks of different tensors with a cosine of at least `MIN_COSINE` at some lag, each at its
    strongest one, and the number of comparisons: of all pairs at all lags."""

    pairs: tuple[ShiftedPair, ...]
    comparisons: int


def shifted_pairs(changes: Changes, names: Sequence[str]) -> Shifted:
    """Compare blocks of these tensors, which have changed, at every lag at which half of the smaller block overlaps."""
    blocks = _blocks(changes, names)
    if len(blocks) < 2:
        return Shifted((), 0)
    longest = max(len(block.signs) for block in blocks)
    padded = torch.zeros(len(blocks), longest)
    for row, block in zip(padded, blocks, strict=True):
        row[: len(block.signs)] = block.signs
    transform = 2 ** math.ceil(math.log2(2 * longest))
    spectra = torch.fft.rfft(padded, transform)
    changed = padded.abs().sum(1)
    pairs, comparisons = list[ShiftedPair](), 0
    for i, block in enumerate(blocks[:-1]):
        others = [j for j in range(i + 1, len(blocks)) if blocks[j].tensor != block.tensor]
        if not others:
            continue
        products = torch.fft.irfft(spectra[i].conj() * spectra[others], transform)
        comparisons += sum(len(block.signs) + len(blocks[j].signs) - 1 for j in others)
        # With half of the smaller block in the overlap, a smaller sum is a smaller cosine at every lag.
        is_strong = products.abs().amax(1) >= MIN_COSINE / 2 * torch.minimum(changed[i], changed[others])
        for row in is_strong.nonzero().flatten().tolist():
            pairs += _strongest(block, blocks[others[row]], products[row])
    return Shifted(tuple(pairs), comparisons)


def _blocks(changes: Changes, names: Sequence[str]) -> list[Block]:
    """Return blocks of a sample of tensors of all sizes; none of a block that did not change."""
    sizes = {name: math.prod(changes.shapes[name]) for name in names}
    by_size = sorted(names, key=lambda name: (sizes[name], name))
    sample = [by_size[round(i)] for i in np.linspace(0, len(by_size) - 1, min(len(by_size), MAX_BLOCKS))]
    per_tensor = min(MAX_BLOCKS_PER_TENSOR, max(1, MAX_BLOCKS // max(1, len(sample))))
    blocks = []
    for name in sample:
        last = max(0, sizes[name] - BLOCK)
        rho = concentration(changes, name)
        for first in sorted({round(last * i / max(1, per_tensor - 1)) for i in range(per_tensor)}):
            signs = changes.elements(name, first, min(first + BLOCK, sizes[name])).sign()
            if int(signs.count_nonzero()) >= MIN_ELEMENTS:
                blocks.append(Block(name, first, signs, rho))
    return blocks


def _strongest(block: Block, other: Block, products: Tensor) -> Iterator[ShiftedPair]:
    """Yield the lag of the largest |cosine| √n, if its cosine is large enough.

    `products` [lags] are the sums of products, that of lag −k at the k-th place from the end.
    """
    lag = torch.arange(len(products))
    lag = torch.where(lag < len(products) // 2, lag, lag - len(products))
    first = (-lag).clamp(min=0)
    last = torch.minimum(torch.tensor(len(block.signs)), len(other.signs) - lag)
    last = torch.maximum(last, first)
    own = _changed_between(block, first, last)
    others = _changed_between(other, first + lag, last + lag)
    n = torch.minimum(own, others)
    half = min(float(block.signs.abs().sum()), float(other.signs.abs().sum())) / 2
    cosine = torch.where(n >= max(half, MIN_ELEMENTS), products / (own * others).clamp(min=1).sqrt(), 0.0)
    at = int((cosine.abs() * n.sqrt()).argmax())
    if abs(cosine[at]) >= MIN_COSINE:
        yield ShiftedPair(
            block.tensor, other.tensor, int(lag[at]) + other.first - block.first,
            max(-1.0, min(1.0, float(cosine[at]))), int(n[at]), block.concentration * other.concentration,
        )  # fmt: skip


def _changed_between(block: Block, first: Tensor, last: Tensor) -> Tensor:
    """Return the number of changed elements first … last − 1 of a block, for each pair of ends; float32."""
    before = torch.nn.functional.pad(block.signs.abs().cumsum(0), (1, 0))
    size = len(block.signs)
    return before[last.clamp(0, size)] - before[first.clamp(0, size)]
