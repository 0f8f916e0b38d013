"""Philox4x64-10 on a GPU as one Triton kernel: the bits of `philox.py`.

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


@triton.jit  # type: ignore[untyped-decorator]
def _fill(out, keys, name, first, blocks, row_length, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """One key (program axis 1), `size` blocks of one stream (axis 0): 16 halfwords each, low bits first."""
    row, block = tl.program_id(1), tl.program_id(0) * size + tl.arange(0, size)
    zero = tl.zeros((size,), tl.uint64)
    c0, c1 = (first + block + 1).to(tl.uint64), zero
    c2 = zero + tl.load(name).to(tl.uint64, bitcast=True)
    c3 = zero + tl.load(name + 1).to(tl.uint64, bitcast=True)
    k0, k1 = zero + tl.load(keys + row).to(tl.uint64, bitcast=True), zero
    for _ in tl.static_range(10):
        high0, low0 = tl.umulhi(c0, zero + 0xD2E7470EE14C6C93), c0 * 0xD2E7470EE14C6C93
        high1, low1 = tl.umulhi(c2, zero + 0xCA5A826395121157), c2 * 0xCA5A826395121157
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + 0x9E3779B97F4A7C15, k1 + 0xBB67AE8584CAA73B
    at = out + row.to(tl.int64) * row_length + block.to(tl.int64) * 16
    _put(at, c0, block < blocks)
    _put(at + 4, c1, block < blocks)
    _put(at + 8, c2, block < blocks)
    _put(at + 12, c3, block < blocks)


@triton.jit
def _put(at, word, mask):  # type: ignore[no-untyped-def]
    for piece in tl.static_range(4):
        tl.store(at + piece, ((word >> (16 * piece)) & 0xFFFF).to(tl.int32), mask=mask)


def by_triton(keys: Sequence[int], streams: Sequence[Stream], device: torch.device) -> Tensor:
    """As `philox.halfwords`, on a GPU."""
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
