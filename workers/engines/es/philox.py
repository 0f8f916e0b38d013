"""Philox4x64-10, a counter-based random number generator (Salmon et al., SC 2011): numpy's on a CPU, elsewhere our own.

A block of 256 random bits is a pure function of a 128-bit key and a 256-bit counter, so that any part of a stream can
be"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
KEY_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10
BITS_PER_BLOCK = 256

Words = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Stream:
    """Blocks first … first + blocks − 1 of the stream that `low` and `high`, two 64-bit words, name."""

    low: int
    high: int
    first: int
    blocks: int


def halfwords(keys: Sequence[int], streams: Sequence[Stream], device: torch.device) -> Tensor:
    """Return [keys, 16 Σ blocks], int32 from 0 to 65535: the 16-bit pieces of each key's streams, end to end, low bits
    first.

    Block b has the key (key, 0) and the counter (b + 1, 0, low, high): numpy counts up before it draws.
    """
    if device.type == "cpu":
        return by_numpy(keys, streams)
    if runs_triton(device):
        from workers.engines.es.philox_cuda import by_triton

        return by_triton(keys, streams, device)
    return by_tensors(keys, streams, device)


@functools.cache
def runs_triton(device: torch.device) -> bool:
    """Return whether Triton kernels run on this device. Triton comes with torch for GPUs, and with no other."""
    return device.type == "cuda" and find_spec("triton") is not None


def by_numpy(keys: Sequence[int], streams: Sequence[Stream]) -> Tensor:
    """Return the same as `halfwords`, on the CPU."""
    words = np.empty((len(keys), 4 * sum(s.blocks for s in streams)), dtype=np.uint64)
    generator = np.random.Philox(key=0)
    state = generator.state
    for key, row in zip(keys, words, strict=True):
        state["state"]["key"][:] = key, 0
        start = 0
        for stream in streams:
            state["state"]["counter"][:] = stream.first, 0, stream.low, stream.high
            generator.state = state
            end = start + 4 * stream.blocks
            row[start:end] = generator.random_raw(end - start)
            start = end
    return torch.from_numpy(words.astype("<u8", copy=False).view("<u2").astype(np.int32))


def by_tensors(keys: Sequence[int], streams: Sequence[Stream], device: torch.device) -> Tensor:
    """Return the same as `halfwords`, on any device."""
    key = torch.tensor(keys, dtype=torch.int64, device=device).unsqueeze(1)
    counts = torch.tensor([s.blocks for s in streams], device=device)
    names = torch.tensor([(signed(s.low), signed(s.high)) for s in streams], device=device)
    low, high = names.repeat_interleave(counts, dim=0).unbind(1)
    position = torch.cat([torch.arange(s.first + 1, s.first + 1 + s.blocks, device=device) for s in streams])
    zero = torch.zeros_like(position)
    words = torch.stack(philox((position, zero, low, high), (key, torch.zeros_like(key))), dim=-1)
    pieces = torch.stack([(words >> shift) & 0xFFFF for shift in (0, 16, 32, 48)], dim=-1)
    return pieces.flatten(1).int()


def philox(counter: Words, key: tuple[Tensor, Tensor]) -> Words:
    """Apply Philox to four int64 tensors of words: return as many, of the shape that counter and key broadcast to."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        high0, high1 = _high_half(c0, MULTIPLIERS[0]), _high_half(c2, MULTIPLIERS[1])
        low0, low1 = c0 * signed(MULTIPLIERS[0]), c2 * signed(MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + signed(KEY_STEPS[0]), k1 + signed(KEY_STEPS[1])
    return c0, c1, c2, c3


def _high_half(x: Tensor, factor: int) -> Tensor:
    """Return the upper 64 bits of the unsigned product, by four products of 32-bit halves."""
    low, high = x & WORD, _upper(x)
    factor_low, factor_high = factor & WORD, factor >> 32
    middle = high * factor_low + _upper(low * factor_low)
    crossed = low * factor_high + (middle & WORD)
    return high * factor_high + _upper(middle) + _upper(crossed)


def _upper(x: Tensor) -> Tensor:
    # A shift to the right copies the sign, which here is a bit like any other.
    return (x >> 32) & WORD


def signed(word: int) -> int:
    """Return an unsigned 64-bit word as the int64 of the same bits."""
    return word - (1 << 64) if word >> 63 else word
