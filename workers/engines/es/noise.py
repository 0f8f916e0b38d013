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
from collections.abc import Mapping, Sequence
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
    low, high = (torch.tensor(word, device=device) for word in _name_words(name))
    for start in range(0, blocks, step):
        position = torch.arange(start, min(blocks, start + step), device=device)
        out[:, start : start + step] = _blocks(seeds, position, low, high)
    out *= torch.tensor([1.0 if seed > 0 else -1.0 for seed in seeds], device=device)[:, None, None]
    return out.view(len(seeds), -1)[:, :count]


def unsigned_normals(seeds: Sequence[int], counts: Mapping[str, int], device: torch.device) -> dict[str, Tensor]:
    """The starts of many short streams at once, name -> [seeds, count]: as `normals` gives for the seeds without sign.

    A block costs a few operations on tensors; for short streams those are far cheaper made together.
    """
    blocks = [-(-count // NORMALS_PER_BLOCK) for count in counts.values()]
    words = torch.tensor([_name_words(name) for name in counts], device=device)
    low, high = words.repeat_interleave(torch.tensor(blocks, device=device), dim=0).unbind(1)
    position = torch.cat([torch.arange(n, device=device) for n in blocks])
    out = torch.empty(len(seeds), len(position), NORMALS_PER_BLOCK, device=device)
    step = max(1, BLOCKS_AT_ONCE[device.type] // len(seeds))
    for start in range(0, len(position), step):
        some = slice(start, start + step)
        out[:, some] = _blocks(seeds, position[some], low[some], high[some])
    parts = torch.split(out, blocks, dim=1)
    return {name: part.flatten(1)[:, :count] for (name, count), part in zip(counts.items(), parts, strict=True)}


def _blocks(seeds: Sequence[int], position: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """[seeds, blocks, 8]: the 16-bit halves of each block's four words, looked up. The sign of a seed is not heeded.

    `position` [blocks] counts within a stream, `low` and `high` (one or [blocks]) are the words of the stream's name.
    """
    key = torch.tensor([abs(seed) for seed in seeds], dtype=torch.int64, device=position.device).unsqueeze(1)
    shape = len(seeds), len(position)
    first, second, third, fourth = (word.expand(shape) for word in (position & WORD, position >> 32, low, high))
    words = torch.stack(philox((first, second, third, fourth), (key & WORD, key >> 32)), dim=-1)
    halves = torch.stack((words & 0xFFFF, words >> 16), dim=-1)
    return normal_quantiles(position.device).index_select(0, halves.flatten()).view(*shape, NORMALS_PER_BLOCK)


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

    def factors(self, seeds: Sequence[int], likes: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """For each matrix A [seeds, out, r], which carries the sign and the 1/√r, and B [seeds, in, r]: E = A Bᵀ."""
        device = next(iter(likes.values())).device
        counts = {
            f"{name}#{side}": n * self.rank
            for name, like in likes.items()
            for side, n in zip("AB", like.shape, strict=True)
        }
        drawn = {name: x.view(len(seeds), -1, self.rank) for name, x in unsigned_normals(seeds, counts, device).items()}
        signs = torch.tensor([1.0 if seed > 0 else -1.0 for seed in seeds], device=device)[:, None, None]
        return {n: (drawn[f"{n}#A"] * signs * self.rank**-0.5, drawn[f"{n}#B"]) for n in likes}

    def of(self, seeds: Sequence[int], name: str, like: Tensor) -> Tensor:
        """The noise of a tensor written out, [seeds, *like.shape], float32."""
        if self.is_low_rank(like):
            a, b = self.factors(seeds, {name: like})[name]
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
