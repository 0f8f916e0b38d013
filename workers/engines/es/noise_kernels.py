"""Triton kernels of ES noise: draw, look up, multiply, add and cast in registers, for many tensors in one launch.

Every tensor is cut into parts of equal size; a program has one part. `owner` int32 [parts] is the tensor of each part,
`rows` int64 [tensors, words] has that tensor's address, and `scales` float32 [tensors] the factor of its noise.
`noise_cuda.py` makes them. Seeds are int64 [members] without sign. Sums are those of `noise.py`: every product and
every addition rounds to float32, in the same order, so kernels are launched without fused multiply-adds.

`quantiles` is the upper half of the table of `quantiles.py`: half of it fits a GPU's cache. `blocks` is the number of
Philox blocks, 16 numbers each, in a part of full noise; `high` and `wide` are the sizes of a part of a matrix.
`aligned` is true if all pointers, and all distances between members or rows of a matrix, are multiples of 16 bytes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from workers.engines.es.philox_cuda import philox

# The words of a row. With full noise:
OUT, MASTER, FIRST_PART, SIZE, LOW, HIGH, IS_SIGNED = (tl.constexpr(i) for i in range(7))
# With low-rank noise, after the first three:
HEIGHT, WIDTH, A, B = (tl.constexpr(i) for i in range(3, 7))
WORDS = tl.constexpr(7)


@triton.jit
def look_up(quantiles, halfword):
    """Return the quantiles float32 [n] of numbers below 65536. The lower half is the upper, mirrored and negated."""
    centred = halfword - 0x8000
    below = centred >> 31
    value = tl.load(quantiles + (centred ^ below), eviction_policy="evict_last").to(tl.int32, bitcast=True)
    return (value ^ (below & -0x80000000)).to(tl.float32, bitcast=True)


@triton.jit
def piece(words, shift: tl.constexpr, quantiles):
    """Return [n, 2, 2]: the 16 bits from `shift` on of each of four words, looked up."""
    c0, c1, c2, c3 = words
    v0 = look_up(quantiles, ((c0 >> shift) & 0xFFFF).to(tl.int32))
    v1 = look_up(quantiles, ((c1 >> shift) & 0xFFFF).to(tl.int32))
    v2 = look_up(quantiles, ((c2 >> shift) & 0xFFFF).to(tl.int32))
    v3 = look_up(quantiles, ((c3 >> shift) & 0xFFFF).to(tl.int32))
    return tl.join(tl.join(v0, v2), tl.join(v1, v3))


@triton.jit
def normals(position, low, high, key, quantiles, blocks: tl.constexpr):
    """Return float32 [16 · blocks]: the numbers of these Philox blocks, in their order; a thread has whole blocks."""
    words = philox(position, low, high, key)
    even = tl.join(piece(words, 0, quantiles), piece(words, 32, quantiles))
    odd = tl.join(piece(words, 16, quantiles), piece(words, 48, quantiles))
    return tl.reshape(tl.join(even, odd), [16 * blocks])


@triton.jit
def pointer(rows, word: tl.constexpr, dtype: tl.constexpr, aligned: tl.constexpr):
    """Return a word of a row as a pointer to numbers of this type."""
    start = tl.load(rows + word).to(tl.pointer_type(dtype))
    if aligned:
        start = tl.multiple_of(start, 16)
    return start


@triton.jit
def read(start, offset, limit):
    """Return `start` [offset], zero from `limit` on. Whole parts need no mask, and so are read in wide accesses.

    These numbers are read once: they leave the cache before the quantiles do.
    """
    if limit == offset.shape[0]:
        value = tl.load(start + offset, eviction_policy="evict_first")
    else:
        value = tl.load(start + offset, mask=offset < limit, other=0.0, eviction_policy="evict_first")
    return value


@triton.jit
def write(start, offset, limit, value):
    """Write `value` to `start` [offset] up to `limit`, cast to the pointer's type."""
    if limit == offset.shape[0]:
        tl.store(start + offset, value.to(start.dtype.element_ty))
    else:
        tl.store(start + offset, value.to(start.dtype.element_ty), mask=offset < limit)


@triton.jit
def write_full(
    rows,
    scales,
    owner,
    seeds,
    signs,
    quantiles,
    dtype: tl.constexpr,
    has_master: tl.constexpr,
    aligned: tl.constexpr,
    blocks: tl.constexpr,
):
    """Write out [member] = cast(master + scale · sign · ε), or without master, for a part and a member (axes 0, 1)."""
    tensor, member = tl.load(owner + tl.program_id(0)), tl.program_id(1).to(tl.int64)
    row = rows + tensor * WORDS
    first = (tl.program_id(0) - tl.load(row + FIRST_PART)) * blocks
    size, offset = tl.load(row + SIZE), tl.arange(0, 16 * blocks)
    limit = tl.minimum(size - first * 16, 16 * blocks).to(tl.int32)
    low, high = tl.load(row + LOW).to(tl.uint64, bitcast=True), tl.load(row + HIGH).to(tl.uint64, bitcast=True)
    key = tl.load(seeds + member).to(tl.uint64, bitcast=True)
    factor = tl.load(scales + tensor)
    if tl.load(row + IS_SIGNED) != 0:
        factor *= tl.load(signs + member)
    position = (first + 1 + tl.arange(0, blocks)).to(tl.uint64)
    value = factor * normals(position, low, high, key, quantiles, blocks)
    if has_master:
        value += read(pointer(row, MASTER, tl.float32, aligned) + first * 16, offset, limit)
    shift = member * size
    if aligned:
        shift = tl.multiple_of(shift, 128 // dtype.primitive_bitwidth)
    write(pointer(row, OUT, dtype, aligned) + shift + first * 16, offset, limit, value)


@triton.jit
def add_full(
    rows,
    scales,
    owner,
    seeds,
    weights,
    members,
    squares,
    quantiles,
    aligned: tl.constexpr,
    blocks: tl.constexpr,
):
    """Add scale · Σ weight · ε to a part of the master. Write the sum of the part's squares to float64 `squares`."""
    tensor = tl.load(owner + tl.program_id(0))
    row = rows + tensor * WORDS
    first = (tl.program_id(0) - tl.load(row + FIRST_PART)) * blocks
    offset = tl.arange(0, 16 * blocks)
    limit = tl.minimum(tl.load(row + SIZE) - first * 16, 16 * blocks).to(tl.int32)
    low, high = tl.load(row + LOW).to(tl.uint64, bitcast=True), tl.load(row + HIGH).to(tl.uint64, bitcast=True)
    position = (first + 1 + tl.arange(0, blocks)).to(tl.uint64)
    total = tl.zeros([16 * blocks], tl.float32)
    for member in tl.range(members):
        key = tl.load(seeds + member).to(tl.uint64, bitcast=True)
        noise = normals(position, low, high, key, quantiles, blocks)
        total += noise * tl.load(weights + member)
    step = total * tl.load(scales + tensor)
    start = pointer(row, MASTER, tl.float32, aligned) + first * 16
    write(start, offset, limit, read(start, offset, limit) + step)
    step = tl.where(offset < limit, step, 0.0).to(tl.float64)
    tl.store(squares + tl.program_id(0), tl.sum(step * step))


@triton.jit
def outer_sum(a, b, ranks):
    """Return A Bᵀ of the rows of A and B at the pointers a [high] and b [wide]: the sum of `noise.outer_sum`."""
    total = tl.load(a)[:, None] * tl.load(b)[None, :]
    for k in tl.range(1, ranks):
        total += tl.load(a + k)[:, None] * tl.load(b + k)[None, :]
    return total


@triton.jit
def tile(here, part, high: tl.constexpr, wide: tl.constexpr, aligned: tl.constexpr):
    """Return the rows int32 [high] and columns int32 [wide] that a part covers, and the matrix's height and width."""
    height, width = tl.load(here + HEIGHT).to(tl.int32), tl.load(here + WIDTH).to(tl.int32)
    local = part - tl.load(here + FIRST_PART).to(tl.int32)
    if aligned:
        width = tl.multiple_of(width, 16)
    across = tl.cdiv(width, wide)
    return (local // across) * high + tl.arange(0, high), (local % across) * wide + tl.arange(0, wide), height, width


@triton.jit
def factor_rows(here, word: tl.constexpr, index, length, ranks):
    """Return pointers to rows of the first member's A or B [length, ranks]; beyond the end, to its last row."""
    return pointer(here, word, tl.float32, False) + tl.minimum(index, length - 1) * ranks


@triton.jit
def write_low_rank(
    rows,
    scales,
    owner,
    ranks,
    dtype: tl.constexpr,
    aligned: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
):
    """Write out [member] = cast(master + scale · A Bᵀ) for a tile [high, wide] and a member (axes 0, 1)."""
    tensor, member = tl.load(owner + tl.program_id(0)), tl.program_id(1).to(tl.int64)
    here = rows + tensor * WORDS
    row, column, height, width = tile(here, tl.program_id(0), high, wide, aligned)
    a = factor_rows(here, A, row, height, ranks) + member * height * ranks
    b = factor_rows(here, B, column, width, ranks) + member * width * ranks
    value = outer_sum(a, b, ranks) * tl.load(scales + tensor)
    offset = row[:, None].to(tl.int64) * width + column[None, :]
    mask = (row < height)[:, None] & (column < width)[None, :]
    value += tl.load(pointer(here, MASTER, tl.float32, aligned) + offset, mask=mask, other=0.0)
    out = pointer(here, OUT, dtype, aligned) + member * height * width
    tl.store(out + offset, value.to(dtype), mask=mask)


@triton.jit
def add_low_rank(
    rows,
    scales,
    owner,
    ranks,
    weights,
    members,
    squares,
    aligned: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
):
    """Add scale · Σ weight · A Bᵀ to a tile [high, wide] of the master. Write its sum of squares to `squares`."""
    tensor = tl.load(owner + tl.program_id(0))
    here = rows + tensor * WORDS
    row, column, height, width = tile(here, tl.program_id(0), high, wide, aligned)
    a, b = factor_rows(here, A, row, height, ranks), factor_rows(here, B, column, width, ranks)
    total = tl.zeros([high, wide], tl.float32)
    for member in tl.range(members):
        total += outer_sum(a, b, ranks) * tl.load(weights + member)
        a, b = a + height * ranks, b + width * ranks
    step = total * tl.load(scales + tensor)
    offset = row[:, None].to(tl.int64) * width + column[None, :]
    mask = (row < height)[:, None] & (column < width)[None, :]
    start = pointer(here, MASTER, tl.float32, aligned) + offset
    tl.store(start, tl.load(start, mask=mask, other=0.0) + step, mask=mask)
    step = tl.where(mask, step, 0.0).to(tl.float64)
    tl.store(squares + tl.program_id(0), tl.sum(step * step))
