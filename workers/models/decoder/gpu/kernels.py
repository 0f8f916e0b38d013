"""Triton kernels of one step of a decoder: all that is done between its matrix products.

A row is one token of one answer: a step's state holds the rows' tokens, positions, slots of the cache and members.
Members differ from one base by vectors of their own and by low-rank products, W + Aₘ Bₘᵀ. The base product is left to
cuBLAS. The kernel before it also computes the row's `dots`, x · Bₘ in float32, and the kernel behind it adds
dots · Aₘ. So no copy of the weights is made, and no product gets wider.

The numbers are computed in float32, and rounded where transformers rounds them.
"""

import triton
import triton.language as tl


@triton.jit
def _corrected(y, dots, a, rank: tl.constexpr, partials: tl.constexpr, width, columns, inside):
    """Return y + Σₖ dots[k] · a[k], for the dots [partials, rank] and a [rank, width] of one row."""
    some = tl.arange(0, triton.next_power_of_2(partials))
    for k in range(rank):
        dot = tl.sum(tl.load(dots + some * rank + k, mask=some < partials, other=0.0))
        y += dot * tl.load(a + k * width + columns, mask=inside, other=0.0).to(tl.float32)
    return y


@triton.jit
def _weighted(x, weight, offset: tl.constexpr, dtype: tl.constexpr):
    """Compute the last part of an RMSNorm. Gemma's, with `offset` set, multiplies by 1 + weight and casts
    afterwards."""
    if offset:
        return (x * (1.0 + weight)).to(dtype)
    return (x.to(dtype).to(tl.float32) * weight).to(dtype)


@triton.jit
def _normed(x, weight, width, eps, offset: tl.constexpr, dtype: tl.constexpr):
    """RMSNorm of x [width]."""
    return _weighted(x * tl.rsqrt(tl.sum(x * x) / width + eps), weight, offset, dtype)


@triton.jit
def _normed_heads(
    first, second, q_weight, k_weight, head, lane, heads: tl.constexpr, half: tl.constexpr, eps,
    offset: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Compute the RMSNorm of both halves of each head, queries by one weight [2 half] and keys by another."""
    scale = tl.rsqrt((tl.sum(first * first, 1) + tl.sum(second * second, 1))[:, None] / (2 * half) + eps)
    weight = tl.where(head < heads, q_weight, k_weight) + lane
    low = tl.load(weight, mask=lane < half, other=0.0).to(tl.float32)
    high = tl.load(weight + half, mask=lane < half, other=0.0).to(tl.float32)
    first, second = _weighted(first * scale, low, offset, dtype), _weighted(second * scale, high, offset, dtype)
    return first.to(tl.float32), second.to(tl.float32)


@triton.jit
def _tanh(x):
    return 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)


@triton.jit
def embed(
    x, table, table_stride, tokens, members, a, b, width, vocabulary, scale,
    rank: tl.constexpr, scaled: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Write x [rows, width] = the tokens' entries of the table [vocabulary, width], each its own member's."""
    row, columns = tl.program_id(0), tl.arange(0, block)
    inside = columns < width
    token, member = tl.load(tokens + row).to(tl.int64), tl.load(members + row).to(tl.int64)
    own = table + member * table_stride + token * width + columns
    y = tl.load(own, mask=inside, other=0.0).to(tl.float32)
    if rank > 0:
        first = member * rank
        for k in range(rank):
            entry = tl.load(a + (first + k) * vocabulary + token).to(tl.float32)
            y += entry * tl.load(b + (first + k) * width + columns, mask=inside, other=0.0).to(tl.float32)
    dtype = x.dtype.element_ty
    if scaled:
        y = y.to(dtype).to(tl.float32) * scale
    tl.store(x + row.to(tl.int64) * width + columns, y.to(dtype), mask=inside)


@triton.jit
def add_and_norm(
    x, y, y_dots, a, bias, bias_stride, y_norm, y_norm_stride, norm, norm_stride, b, normed, dots, members, width, eps,
    adds: tl.constexpr, rank: tl.constexpr, partials: tl.constexpr, biased: tl.constexpr, y_normed: tl.constexpr,
    terms: tl.constexpr, offset: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Compute x += y, with y's correction, bias and own norm; normed = RMSNorm(x); dots [rows, terms] = normed · b."""
    row, columns = tl.program_id(0).to(tl.int64), tl.arange(0, block)
    inside, member = columns < width, tl.load(members + row).to(tl.int64)
    dtype = x.dtype.element_ty
    total = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    if adds:
        more = tl.load(y + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        if rank > 0:
            at = a + member * rank * width
            more = _corrected(more, y_dots + row * partials * rank, at, rank, partials, width, columns, inside)
        if biased:
            more += tl.load(bias + member * bias_stride + columns, mask=inside, other=0.0).to(tl.float32)
        more = more.to(dtype).to(tl.float32)
        if y_normed:
            own = tl.load(y_norm + member * y_norm_stride + columns, mask=inside, other=0.0).to(tl.float32)
            more = _normed(more, own, width, eps, offset, dtype).to(tl.float32)
        total = (total + more).to(dtype).to(tl.float32)
        tl.store(x + row * width + columns, total.to(dtype), mask=inside)
    weight = tl.load(norm + member * norm_stride + columns, mask=inside, other=0.0).to(tl.float32)
    out = _normed(total, weight, width, eps, offset, dtype)
    tl.store(normed + row * width + columns, out, mask=inside)
    if terms > 0:
        for k in range(terms):
            factor = tl.load(b + (member * terms + k) * width + columns, mask=inside, other=0.0).to(tl.float32)
            tl.store(dots + row * terms + k, tl.sum(out.to(tl.float32) * factor))


@triton.jit
def turn_heads(
    qkv, dots, a, bias, bias_stride, q_norm, q_norm_stride, k_norm, k_norm_stride, cos, sin, q, cache, k_first, v_first,
    positions, slots, members, columns, eps,
    heads: tl.constexpr, kv_heads: tl.constexpr, half: tl.constexpr, rank: tl.constexpr, biased: tl.constexpr,
    normed: tl.constexpr, offset: tl.constexpr, block: tl.constexpr, half_block: tl.constexpr,
):  # fmt: skip
    """Split qkv [rows, heads + 2 kv_heads, 2 half] into turned queries q, and keys and values in their cache column."""
    row = tl.program_id(0).to(tl.int64)
    member, position = tl.load(members + row).to(tl.int64), tl.load(positions + row).to(tl.int64)
    width = (heads + 2 * kv_heads) * 2 * half
    dtype = qkv.dtype.element_ty
    head, lane = tl.arange(0, block)[:, None], tl.arange(0, half_block)[None, :]
    inside = (head < heads + 2 * kv_heads) & (lane < half)
    at = head * 2 * half + lane
    first = tl.load(qkv + row * width + at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(qkv + row * width + at + half, mask=inside, other=0.0).to(tl.float32)
    part = (head >= heads).to(tl.int32) + (head >= heads + kv_heads).to(tl.int32)
    if rank > 0:
        for k in range(rank):
            dot = tl.load(dots + row * 3 * rank + part * rank + k)
            own = a + (member * rank + k) * width + at
            first += dot * tl.load(own, mask=inside, other=0.0).to(tl.float32)
            second += dot * tl.load(own + half, mask=inside, other=0.0).to(tl.float32)
    if biased:
        own = bias + member * bias_stride + at
        first += tl.load(own, mask=inside, other=0.0).to(tl.float32)
        second += tl.load(own + half, mask=inside, other=0.0).to(tl.float32)
    first, second = first.to(dtype).to(tl.float32), second.to(dtype).to(tl.float32)
    is_value = head >= heads + kv_heads
    if normed:
        of_q, of_k = q_norm + member * q_norm_stride, k_norm + member * k_norm_stride
        low, high = _normed_heads(first, second, of_q, of_k, head, lane, heads, half, eps, offset, dtype)
        first, second = tl.where(is_value, first, low), tl.where(is_value, second, high)
    turn = position * half + lane
    c = tl.load(cos + turn, mask=lane < half, other=0.0).to(tl.float32)
    s = tl.load(sin + turn, mask=lane < half, other=0.0).to(tl.float32)
    low = tl.where(is_value, first, first * c - second * s).to(dtype)
    high = tl.where(is_value, second, second * c + first * s).to(dtype)
    into_q = q + row * heads * 2 * half + at
    tl.store(into_q, low, mask=inside & (head < heads))
    tl.store(into_q + half, high, mask=inside & (head < heads))
    kv_head = tl.where(is_value, head - heads - kv_heads, head - heads)
    slot = tl.load(slots + row).to(tl.int64)
    layer = tl.where(is_value, v_first, k_first)
    into = cache + layer + ((slot * kv_heads + kv_head) * columns + position) * 2 * half + lane
    tl.store(into, low, mask=inside & (head >= heads))
    tl.store(into + half, high, mask=inside & (head >= heads))


@triton.jit
def attend(
    q, cache, k_first, v_first, b, out, dots, positions, slots, members, columns, scale, softcap,
    kv_heads: tl.constexpr, group: tl.constexpr, head_dim: tl.constexpr, window: tl.constexpr, capped: tl.constexpr,
    rank: tl.constexpr, group_block: tl.constexpr, head_block: tl.constexpr, tile: tl.constexpr,
    precision: tl.constexpr,
):  # fmt: skip
    """Attention of each row to its slot's columns up to its own; dots [rows, kv_heads, rank] = out · b."""
    row, kv_head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    member, slot = tl.load(members + row).to(tl.int64), tl.load(slots + row).to(tl.int64)
    end, begin = tl.load(positions + row) + 1, 0
    if window > 0:
        begin = tl.maximum(end - window, 0)
    dtype = q.dtype.element_ty
    query_head, lane, column = tl.arange(0, group_block)[:, None], tl.arange(0, head_block)[None, :], tl.arange(0, tile)
    inside = (query_head < group) & (lane < head_dim)
    at = (kv_head * group + query_head) * head_dim + lane
    query = tl.load(q + row * kv_heads * group * head_dim + at, mask=inside, other=0.0)
    most = tl.full((group_block,), -1e30, tl.float32)
    total, sums = tl.zeros((group_block,), tl.float32), tl.zeros((group_block, head_block), tl.float32)
    own = (slot * kv_heads + kv_head) * columns * head_dim
    for start in range(begin, end, tile):
        here = start + column
        is_valid = (here < end)[:, None] & (lane < head_dim)
        entry = own + here[:, None] * head_dim + lane
        keys = tl.load(cache + k_first + entry, mask=is_valid, other=0.0)
        values = tl.load(cache + v_first + entry, mask=is_valid, other=0.0)
        scores = tl.dot(query, tl.trans(keys), input_precision=precision) * scale
        if capped:
            scores = softcap * _tanh(scores / softcap)
        scores = tl.where((here < end)[None, :], scores, -1e30)
        highest = tl.maximum(most, tl.max(scores, 1))
        shares, decay = tl.exp(scores - highest[:, None]), tl.exp(most - highest)
        total = total * decay + tl.sum(shares, 1)
        sums = sums * decay[:, None] + tl.dot(shares.to(dtype), values, input_precision=precision)
        most = highest
    attended = (sums / total[:, None]).to(dtype)
    tl.store(out + row * kv_heads * group * head_dim + at, attended, mask=inside)
    if rank > 0:
        for k in range(rank):
            factor = tl.load(b + (member * rank + k) * kv_heads * group * head_dim + at, mask=inside, other=0.0)
            dot = tl.sum(tl.sum(attended.to(tl.float32) * factor.to(tl.float32), 1), 0)
            tl.store(dots + (row * kv_heads + kv_head) * rank + k, dot)


@triton.jit
def activate(
    gate_up, gate_up_dots, a, bias, bias_stride, b, out, dots, members, width,
    rank: tl.constexpr, down_rank: tl.constexpr, biased: tl.constexpr, gelu: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Compute out [rows, width] = activation(gate) · up; dots [rows, pieces, down_rank] = out · b."""
    row, piece = tl.program_id(0).to(tl.int64), tl.program_id(1)
    columns = piece * block + tl.arange(0, block)
    inside, member = columns < width, tl.load(members + row).to(tl.int64)
    dtype = out.dtype.element_ty
    gate = tl.load(gate_up + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + columns, mask=inside, other=0.0).to(tl.float32)
    if rank > 0:
        for k in range(rank):
            own = a + (member * rank + k) * 2 * width + columns
            of_gate, of_up = (
                tl.load(gate_up_dots + row * 2 * rank + k),
                tl.load(gate_up_dots + (row * 2 + 1) * rank + k),
            )
            gate += of_gate * tl.load(own, mask=inside, other=0.0).to(tl.float32)
            up += of_up * tl.load(own + width, mask=inside, other=0.0).to(tl.float32)
    if biased:
        own = bias + member * bias_stride + columns
        gate += tl.load(own, mask=inside, other=0.0).to(tl.float32)
        up += tl.load(own + width, mask=inside, other=0.0).to(tl.float32)
    gate, up = gate.to(dtype).to(tl.float32), up.to(dtype).to(tl.float32)
    if gelu:
        active = 0.5 * gate * (1.0 + _tanh(0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)))
    else:
        active = gate / (1.0 + tl.exp(-gate))
    y = (active.to(dtype).to(tl.float32) * up).to(dtype)
    tl.store(out + row * width + columns, y, mask=inside)
    if down_rank > 0:
        for k in range(down_rank):
            factor = tl.load(b + (member * down_rank + k) * width + columns, mask=inside, other=0.0).to(tl.float32)
            dot = tl.sum(tl.where(inside, y.to(tl.float32) * factor, 0.0))
            tl.store(dots + (row * tl.num_programs(1) + piece) * down_rank + k, dot)


@triton.jit
def pick_likeliest(
    logits, dots, a, bias, bias_stride, values, places, members, vocabulary, span, softcap,
    rank: tl.constexpr, biased: tl.constexpr, capped: tl.constexpr, stored: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Find the largest logit of each span of the vocabulary, [rows, spans], and its first index. The logits [rows,
    vocabulary] come from the base product, and are corrected; `stored` writes them back."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    member = tl.load(members + row).to(tl.int64)
    dtype = logits.dtype.element_ty
    best = tl.full((block,), float("-inf"), tl.float32)
    best_at = tl.zeros((block,), tl.int32) + part * span
    for start in range(0, span, block):
        columns = part * span + start + tl.arange(0, block)
        inside = (columns < vocabulary) & (start + tl.arange(0, block) < span)
        y = tl.load(logits + row * vocabulary + columns, mask=inside, other=0.0).to(tl.float32)
        if rank > 0:
            for k in range(rank):
                own = a + (member * rank + k) * vocabulary + columns
                y += tl.load(dots + row * rank + k) * tl.load(own, mask=inside, other=0.0).to(tl.float32)
        if biased:
            y += tl.load(bias + member * bias_stride + columns, mask=inside, other=0.0).to(tl.float32)
        y = y.to(dtype).to(tl.float32)
        if capped:
            y = (softcap * _tanh(y / softcap)).to(dtype).to(tl.float32)
        if stored:
            tl.store(logits + row * vocabulary + columns, y.to(dtype), mask=inside)
        # As torch's argmax: the first NaN is larger than all numbers.
        y = tl.where(y != y, float("inf"), y)
        better = inside & (y > best)
        best, best_at = tl.where(better, y, best), tl.where(better, columns, best_at)
    top = tl.max(best, 0)
    tl.store(values + row * tl.num_programs(1) + part, top)
    tl.store(places + row * tl.num_programs(1) + part, tl.min(tl.where(best == top, best_at, vocabulary), 0))


@triton.jit
def advance(
    values, places, ends, answers, tokens, positions, slots, numbers, limits, ended, rows, longest,
    spans: tl.constexpr, end_count: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Write each row's likeliest token into answers [slots, longest], and go on to the next, or end the answer."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    some = tl.arange(0, triton.next_power_of_2(spans))
    inside = (row < rows)[:, None] & (some < spans)[None, :]
    value = tl.load(values + row[:, None] * spans + some[None, :], mask=inside, other=float("-inf"))
    token = tl.load(places + row[:, None] * spans + some[None, :], mask=inside, other=2147483647)
    top = tl.max(value, 1)
    likeliest = tl.min(tl.where(value == top[:, None], token, 2147483647), 1)
    writes = (row < rows) & (tl.load(ended + row, mask=row < rows, other=1) == 0)
    number, slot = tl.load(numbers + row, mask=writes, other=0), tl.load(slots + row, mask=writes, other=0)
    tl.store(answers + slot.to(tl.int64) * longest + number, likeliest, mask=writes)
    over = number + 1 >= tl.load(limits + row, mask=writes, other=0)
    if end_count > 0:
        for k in range(end_count):
            over = over | (likeliest == tl.load(ends + k))
    position = tl.load(positions + row, mask=writes, other=0)
    tl.store(tokens + row, likeliest, mask=writes)
    tl.store(numbers + row, number + 1, mask=writes)
    tl.store(positions + row, position + 1, mask=writes & (over == 0))
    tl.store(ended + row, over.to(tl.int32), mask=writes)


@triton.jit(do_not_specialize=["slot_count", "count"])
def copy_beginnings(
    cache, from_slots, to_slots, slot_count, columns, count,
    kv_heads: tl.constexpr, head_dim: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Copy the first `count` columns of each slot to another slot, in all layers of the cache."""
    pair, plane = tl.program_id(0), tl.program_id(1).to(tl.int64)
    layer, kv_head = plane // kv_heads, plane % kv_heads
    source, target = tl.load(from_slots + pair).to(tl.int64), tl.load(to_slots + pair).to(tl.int64)
    size = columns.to(tl.int64) * head_dim
    for start in range(0, count * head_dim, block):
        at = start + tl.arange(0, block)
        some = tl.load(
            cache + ((layer * slot_count + source) * kv_heads + kv_head) * size + at, mask=at < count * head_dim
        )
        tl.store(
            cache + ((layer * slot_count + target) * kv_heads + kv_head) * size + at, some, mask=at < count * head_dim
        )
