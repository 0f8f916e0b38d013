"""Noise that tensors share at other positions: cross-correlations of blocks of their changes at all lags, by FFT.

A stream that is rolled by some elements, or that one tensor begins where another is in the middle, has cosines near
zero element by element. Here the signs of the changes are compared, so that a few large rows, as gradients have them,
do not decide a cosine. Tensors are sampled: blocks of 16 384 elements, at most 160 of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workers.probes.audit.cosines import MIN_ELEMENTS, concentration
from workers.probes.geometry.changes import Changes

BLOCK = 1 << 14
"""Elements of a block."""
MAX_BLOCKS, MAX_BLOCKS_PER_TENSOR = 160, 3
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
    """The strongest lag of each pair of blocks of different tensors, and the number of comparisons."""

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
    counts = torch.nn.functional.pad(padded.abs().cumsum(1), (1, 0))
    lengths = torch.tensor([len(block.signs) for block in blocks])
    pairs, comparisons = list[ShiftedPair](), 0
    for i, block in enumerate(blocks[:-1]):
        others = [j for j in range(i + 1, len(blocks)) if blocks[j].tensor != block.tensor]
        if not others:
            continue
        products = torch.fft.irfft(spectra[i].conj() * spectra[others], transform)
        cosine, n = _cosines(products, counts[i], counts[others], int(lengths[i]), lengths[others])
        comparisons += int((n > 0).sum())
        strongest = (cosine.abs() * n.sqrt()).argmax(1)
        for row, (j, at) in enumerate(zip(others, strongest.tolist(), strict=True)):
            if n[row, at]:
                lag = at if at < transform // 2 else at - transform
                pairs.append(_pair(block, blocks[j], lag, float(cosine[row, at]), int(n[row, at])))
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


def _cosines(
    products: Tensor, counts: Tensor, other_counts: Tensor, length: int, other_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return cosine and n of the overlap at every lag, float32 [blocks, lags], 0 where too little overlaps.

    `products` [blocks, lags] are the sums of products, lag −k at the k-th place from the end. `counts` [elements + 1]
    and `other_counts` [blocks, elements + 1] are the numbers of non-zero elements before each.
    """
    lags, longest = products.shape[1], len(counts) - 1
    lag = torch.arange(lags)
    lag = torch.where(lag < lags // 2, lag, lag - lags)[None]
    ends = other_lengths[:, None]
    first = (-lag).clamp(min=0)
    last = torch.minimum(torch.tensor(length), ends - lag).clamp(min=0)
    overlap = (last - first).clamp(min=0)
    last = torch.maximum(last, first).clamp(max=longest)
    first = first.clamp(max=longest).expand_as(last)
    own = counts[last] - counts[first]
    other_first, other_last = ((at + lag).clamp(0, longest) for at in (first, last))
    other = other_counts.gather(1, other_last) - other_counts.gather(1, other_first)
    half = torch.minimum(torch.tensor(length), ends) / 2
    n = torch.minimum(own, other)
    n = torch.where((overlap >= half) & (n >= MIN_ELEMENTS), n, 0.0)
    cosine = torch.where(n > 0, products / (own * other).clamp(min=1).sqrt(), 0.0)
    return cosine, n


def _pair(block: Block, other: Block, lag: int, cosine: float, n: int) -> ShiftedPair:
    kurtosis = block.concentration * other.concentration
    shift = lag + other.first - block.first
    return ShiftedPair(block.tensor, other.tensor, shift, max(-1.0, min(1.0, cosine)), n, kurtosis)
