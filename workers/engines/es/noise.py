"""Noise ε of the members: a pure function of (member's seed, canonical tensor name, element), on every device alike.

full         every element of a tensor is an independent normal number.
low_rank     a matrix gets E = A Bᵀ / √r with normal A [out, r] and B [in, r] (EGGROLL, arXiv 2511.16652), of unit
             variance and far cheaper in a batch. What is no matrix gets full noise.
correlated   every tensor reads the same stream from its start, as the paper's first code did by re-seeding for each.

A member's seed keys Philox; the counter is (position, SHA-256 of the name). A negative seed −s mirrors the noise of s.
Sums are made of single float32 products and additions in a fixed order, so that they too are the same everywhere; a
matrix product would round as its library pleases.

A kind of noise is a class here, in NOISE_TYPES, and its facts in `workers.config.es_noise`.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from workers.config.es_noise import NOISES, NoiseName
from workers.engines.es.philox import BITS_PER_BLOCK, Stream, halfwords, runs_triton
from workers.engines.es.quantiles import normal_quantiles

VERSION = 2
"""Increased whenever the same seeds would give other noise. A replay log stores the version it was written with."""

NORMALS_PER_BLOCK = BITS_PER_BLOCK // 16
# Small enough for the cache of a CPU, large enough to keep a GPU busy.
BLOCK_BATCH_SIZE = {"cpu": 1 << 13, "cuda": 1 << 21}
ELEMENT_BATCH_SIZE = 1 << 24


def normals(seeds: Sequence[int], name: str, count: int, device: torch.device) -> Tensor:
    """Return standard normal numbers [seeds, count], float32: the stream `name` of each seed, from its start."""
    out = torch.empty(len(seeds), count, device=device)
    batch_size, blocks = BLOCK_BATCH_SIZE[device.type], _blocks(count)
    group = max(1, batch_size // blocks)
    for first in range(0, len(seeds), group):
        group_seeds = seeds[first : first + group]
        for start in range(0, blocks, batch_size):
            stream = Stream(*name_words(name), start, min(batch_size, blocks - start))
            cut = slice(start * NORMALS_PER_BLOCK, (start + stream.blocks) * NORMALS_PER_BLOCK)
            into = out[first : first + group, cut]
            into.copy_(_unsigned(group_seeds, [stream], device)[:, : into.shape[1]])
    return out if all(seed > 0 for seed in seeds) else out.mul_(signs(seeds, device).unsqueeze(1))


def unsigned_normals(seeds: Sequence[int], counts: Mapping[str, int], device: torch.device) -> dict[str, Tensor]:
    """Return the starts of many short streams together, name -> [seeds, count]: equal to `normals` without seeds'
    signs.

    Every draw costs a few operations; for short streams those are far cheaper made together.
    """
    streams = [Stream(*name_words(name), 0, _blocks(count)) for name, count in counts.items()]
    numbers = _unsigned(seeds, streams, device)
    parts = torch.split(numbers, [s.blocks * NORMALS_PER_BLOCK for s in streams], dim=1)
    return {name: part[:, :count] for (name, count), part in zip(counts.items(), parts, strict=True)}


def _unsigned(seeds: Sequence[int], streams: Sequence[Stream], device: torch.device) -> Tensor:
    """Return [seeds, 16 Σ blocks]: 16 random bits each, looked up. The sign of a seed is ignored."""
    bits = halfwords([abs(seed) for seed in seeds], streams, device)
    return normal_quantiles(device).index_select(0, bits.flatten()).view(bits.shape)


def signs(seeds: Sequence[int], device: torch.device) -> Tensor:
    """Return float32 [seeds]: the 1 or −1 that multiplies the noise of each seed."""
    return torch.tensor([1.0 if seed > 0 else -1.0 for seed in seeds], device=device)


def _blocks(count: int) -> int:
    return -(-count // NORMALS_PER_BLOCK)


@functools.lru_cache(maxsize=1 << 14)
def name_words(name: str) -> tuple[int, int]:
    """Return the two words of 64 bits that name a stream."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


@dataclass(frozen=True)
class Noise:
    """Full noise, and the base of every other kind. `rank`: that of factored noise."""

    rank: int = 1
    kind: ClassVar[NoiseName] = "full"
    has_kernels: ClassVar[bool] = True
    """Whether `noise_cuda` draws it: as normal numbers of `stream`, and of factored noise as `factors`."""
    is_shared: ClassVar[bool] = False
    """Whether the tensors of a member have equal noise, so that their norms depend on each other."""

    @property
    def is_factored(self) -> bool:
        """Return whether the noise of matrices is a product of two factors."""
        return NOISES[self.kind].is_factored

    def is_low_rank(self, like: Tensor) -> bool:
        """Return whether a tensor's noise is a product of two factors."""
        return self.is_factored and like.ndim == 2

    def stream(self, name: str) -> str:
        """Return the name of the stream that a tensor's noise is read from."""
        return name

    def factors(self, seeds: Sequence[int], likes: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """Return for each matrix A [seeds, out, r], with the sign and all scales, and B [seeds, in, r]: E = A Bᵀ."""
        raise TypeError(f"{self.kind} noise has no factors")

    def draw(self, seeds: Sequence[int], name: str, like: Tensor) -> Tensor:
        """Return the noise of a tensor in full, [seeds, *like.shape], float32."""
        if self.is_low_rank(like):
            a, b = self.factors(seeds, {name: like})[name]
            return torch.stack([outer_sum(x, y) for x, y in zip(a, b, strict=True)])
        return normals(seeds, self.stream(name), like.numel(), like.device).reshape(len(seeds), *like.shape)

    def weighted_sum(self, seeds: Sequence[int], weights: Sequence[float], name: str, like: Tensor) -> Tensor:
        """Return Σᵢ wᵢ εᵢ over members in their order, with the shape and device of `like`, summed in float32."""
        total = torch.zeros_like(like, dtype=torch.float32)
        group = max(1, ELEMENT_BATCH_SIZE // like.numel())
        for start in range(0, len(seeds), group):
            group_seeds = seeds[start : start + group]
            for weight, noise in zip(weights[start : start + group], self.draw(group_seeds, name, like), strict=True):
                # Two rounded steps: one fused multiply-add would round once, and not on every device.
                total += noise.mul_(weight)
        return total

    def square_variance(self, shape: Sequence[int]) -> float:
        """Return Var‖ε‖² of a tensor, whose elements have mean 0 and variance 1, without correlation, in all kinds."""
        return 2.0 * math.prod(shape)


class CorrelatedNoise(Noise):
    """Normal numbers, the same for every tensor from its start."""

    kind = "correlated"
    is_shared = True

    def stream(self, name: str) -> str:
        return ""


class LowRankNoise(Noise):
    """A Bᵀ / √rank for each matrix, and full noise for other tensors."""

    kind = "low_rank"

    def factors(self, seeds: Sequence[int], likes: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        device = next(iter(likes.values())).device
        if runs_triton(device):
            from workers.engines.es.noise_cuda import draw_factors

            return draw_factors(likes, self.rank, seeds)
        counts = {
            f"{name}#{side}": n * self.rank
            for name, like in likes.items()
            for side, n in zip("AB", like.shape, strict=True)
        }
        normal = unsigned_normals(seeds, counts, device)
        matrices = {name: x.reshape(len(seeds), -1, self.rank) for name, x in normal.items()}
        sign = signs(seeds, device)[:, None, None]
        return {n: (matrices[f"{n}#A"] * sign * self.rank**-0.5, matrices[f"{n}#B"]) for n in likes}

    def square_variance(self, shape: Sequence[int]) -> float:
        """Return Var‖E‖², for a matrix from the moments of Wishart matrices."""
        variance = super().square_variance(shape)
        return variance * (sum(shape) + self.rank + 1) / self.rank if len(shape) == 2 else variance


NOISE_TYPES: Mapping[NoiseName, type[Noise]] = {cls.kind: cls for cls in (Noise, CorrelatedNoise, LowRankNoise)}


def make_noise(kind: NoiseName, rank: int = 1) -> Noise:
    """Return the noise of a kind, as es.noise and es.rank select it."""
    return NOISE_TYPES[kind](rank)


def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return A Bᵀ for A [out, r], B [in, r], added up term by term: the same bits on every device."""
    total = a[:, :1] * b[:, 0]
    for k in range(1, a.shape[1]):
        total += a[:, k : k + 1] * b[:, k]
    return total
