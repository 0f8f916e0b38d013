"""Noise ε of the members: a pure function of (member's seed, canonical tensor name, element), on every device alike.

full         every element of a tensor is an independent normal number.
low_rank     a matrix gets E = A Bᵀ / √r with normal A [out, r] and B [in, r] (EGGROLL, arXiv 2511.16652), of unit
             variance and far cheaper in a batch. What is no matrix gets full noise.
correlated   every tensor reads the same stream from its start, as the paper's first code did by re-seeding for each.

A member's seed keys Philox; the counter is (position, SHA-256 of the name). A negative seed −s mirrors the noise of s.
Sums are made of single float32 products and additions in a fixed order, so that they too are the same everywhere; a
matrix product would round as its library pleases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from workers.engines.es.philox import WORD, philox
from workers.engines.es.quantiles import normal_quantiles

VERSION = 1
"""Raised whenever the same seeds would give other noise. A replay log says which it was written with."""

NORMALS_PER_BLOCK = 8
# Small enough for the cache of a CPU, large enough to keep a GPU busy.
BLOCKS_AT_ONCE = {"cpu": 1 << 15, "cuda": 1 << 22}
ELEMENTS_AT_ONCE = 1 << 24


def normals(seeds: Sequence[int], name: str, count: int, device: torch.device) -> Tensor:
    """Standard normal numbers [seeds, count], float32: the stream `name` of each seed, from its start."""
    blocks = -(-count // NORMALS_PER_BLOCK)
    out = torch.empty(len(seeds), blocks, NORMALS_PER_BLOCK, device=device)
    step = max(1, BLOCKS_AT_ONCE[device.type] // len(seeds))
    for start in range(0, blocks, step):
        out[:, start : start + step] = _blocks(seeds, name, start, min(blocks, start + step), device)
    return out.view(len(seeds), -1)[:, :count]


def _blocks(seeds: Sequence[int], name: str, start: int, stop: int, device: torch.device) -> Tensor:
    """[seeds, stop − start, 8]: the 16-bit halves of each block's four words, looked up."""
    key = torch.tensor([abs(seed) for seed in seeds], dtype=torch.int64, device=device).unsqueeze(1)
    position = torch.arange(start, stop, device=device).repeat(len(seeds), 1)
    low, high = (torch.full_like(position, word) for word in _name_words(name))
    words = torch.stack(philox((position & WORD, position >> 32, low, high), (key & WORD, key >> 32)), dim=-1)
    halves = torch.stack((words & 0xFFFF, words >> 16), dim=-1)
    drawn = normal_quantiles(device).index_select(0, halves.flatten()).view(*position.shape, NORMALS_PER_BLOCK)
    return drawn * torch.tensor([1.0 if seed > 0 else -1.0 for seed in seeds], device=device)[:, None, None]


def _name_words(name: str) -> tuple[int, int]:
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


@dataclass(frozen=True)
class Noise:
    """The noise of a run: its kind, and the rank of low-rank noise."""

    kind: Literal["full", "low_rank", "correlated"]
    rank: int = 1

    def is_low_rank(self, like: Tensor) -> bool:
        """Whether a tensor's noise is a product of two factors."""
        return self.kind == "low_rank" and like.ndim == 2

    def factors(self, seeds: Sequence[int], name: str, like: Tensor) -> tuple[Tensor, Tensor]:
        """A [seeds, out, r], which carries the sign and the 1/√r, and B [seeds, in, r], so that E = A Bᵀ."""
        rows, columns = like.shape
        a = normals(seeds, f"{name}#A", rows * self.rank, like.device).reshape(len(seeds), rows, self.rank)
        unsigned = [abs(seed) for seed in seeds]
        b = normals(unsigned, f"{name}#B", columns * self.rank, like.device).reshape(len(seeds), columns, self.rank)
        return a * self.rank**-0.5, b

    def of(self, seeds: Sequence[int], name: str, like: Tensor) -> Tensor:
        """The noise of a tensor written out, [seeds, *like.shape], float32."""
        if self.is_low_rank(like):
            a, b = self.factors(seeds, name, like)
            return torch.stack([outer_sum(x, y) for x, y in zip(a, b, strict=True)])
        stream = "" if self.kind == "correlated" else name
        return normals(seeds, stream, like.numel(), like.device).reshape(len(seeds), *like.shape)

    def weighted_sum(self, seeds: Sequence[int], weights: Sequence[float], name: str, like: Tensor) -> Tensor:
        """Σᵢ wᵢ εᵢ over members in their order, shaped and placed as `like`, summed in float32."""
        total = torch.zeros_like(like, dtype=torch.float32)
        group = max(1, ELEMENTS_AT_ONCE // like.numel())
        for start in range(0, len(seeds), group):
            some = seeds[start : start + group]
            for weight, noise in zip(weights[start : start + group], self.of(some, name, like), strict=True):
                # Two rounded steps: one fused multiply-add would round once, and not on every device.
                total += noise.mul_(weight)
        return total


def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """A Bᵀ for A [out, r], B [in, r], added up term by term: the same bits on every device."""
    total = a[:, :1] * b[:, 0]
    for k in range(1, a.shape[1]):
        total += a[:, k : k + 1] * b[:, k]
    return total
