"""Philox4x64-10 in Triton: the blocks of `philox.py` in a GPU's registers, and a kernel that writes them out.

As tensor operations the ten rounds would send every word through the GPU's memory some four hundred times.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from workers.engines.es.philox import Stream, signed

BLOCKS_A_PROGRAM = 256


@triton.jit
def philox(position, low, high, key):
    """Return four uint64 words [n]: the block of counter (position, 0, low, high) and key (key, 0).

    `position` is uint64 [n]; the others are uint64 numbers. What they alone decide stays a number: a sixth of the work.
    """
    high0, low0 = multiply(position, 0xD2E7470EE14C6C93)
    high1, low1 = multiply(low, 0xCA5A826395121157)
    c0, c1, c2, c3 = high1 ^ key, low1, high0 ^ high, low0
    for step in tl.static_range(1, 10):
        key += 0x9E3779B97F4A7C15
        high0, low0 = multiply(c0, 0xD2E7470EE14C6C93)
        high1, low1 = multiply(c2, 0xCA5A826395121157)
        c0, c1, c2, c3 = high1 ^ c1 ^ key, low1, high0 ^ c3 ^ ((step * 0xBB67AE8584CAA73B) % (1 << 64)), low0
    return c0, c1, c2, c3


@triton.jit
def multiply(word, factor: tl.constexpr):
    """Return the upper and the lower 64 bits of uint64 `word` · factor."""
    return tl.umulhi(word, word * 0 + factor), word * factor


@triton.jit
def _fill(out, keys, name, first, blocks, row_length, size: tl.constexpr):
    """Write one key (program axis 1), `size` blocks of one stream (axis 0): 16 halfwords each, low bits first."""
    row, block = tl.program_id(1), tl.program_id(0) * size + tl.arange(0, size)
    low, high = tl.load(name).to(tl.uint64, bitcast=True), tl.load(name + 1).to(tl.uint64, bitcast=True)
    key = tl.load(keys + row).to(tl.uint64, bitcast=True)
    c0, c1, c2, c3 = philox((first + block + 1).to(tl.uint64), low, high, key)
    at = out + row.to(tl.int64) * row_length + block.to(tl.int64) * 16
    _put(at, c0, block < blocks)
    _put(at + 4, c1, block < blocks)
    _put(at + 8, c2, block < blocks)
    _put(at + 12, c3, block < blocks)


@triton.jit
def _put(at, word, mask):
    for piece in tl.static_range(4):
        tl.store(at + piece, ((word >> (16 * piece)) & 0xFFFF).to(tl.int32), mask=mask)


def by_triton(keys: Sequence[int], streams: Sequence[Stream], device: torch.device) -> Tensor:
    """Return the same as `philox.halfwords`, on a GPU."""
    blocks = sum(stream.blocks for stream in streams)
    out = torch.empty(len(keys), 16 * blocks, dtype=torch.int32, device=device)
    rows, start = torch.tensor(keys, dtype=torch.int64, device=device), 0
    for stream in streams:
        grid = (triton.cdiv(stream.blocks, BLOCKS_A_PROGRAM), len(keys))
        into = out[:, 16 * start :]
        name = torch.tensor([signed(stream.low), signed(stream.high)], device=device)
        _fill[grid](into, rows, name, stream.first, stream.blocks, out.shape[1], size=BLOCKS_A_PROGRAM)
        start += stream.blocks
    return out
