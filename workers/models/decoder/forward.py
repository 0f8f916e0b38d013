"""The forward pass of a Qwen2- or Llama-shaped decoder, for one model or a population (see `weights.py`).

Prompts are read packed, end to end without padding; their keys and values go into the cache flush right, so that all
answers write their next token into the same column. What all prompts begin with (a chat template's first tokens, a
system message) is read once. No autograd, no dropout, no output of attention weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from workers.models.decoder.rows import Even, Placement, Rows
from workers.models.decoder.shape import Layer, Shape
from workers.models.decoder.weights import Weights

Attend = Callable[[int, Tensor], Tensor]
Heads = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Prompts:
    """Prompts without what all begin with, packed end to end, sorted by length.

    `groups`: (first prompt, prompts, first token, tokens in each); `last`: where each prompt's last token stands.
    """

    tokens: Tensor
    positions: Tensor
    last: Tensor
    groups: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def pack(cls, prompts: Sequence[Sequence[int]], first: int, device: torch.device, begin: int = 0) -> Prompts:
        """Packs token lists sorted by length, which stand at position `begin`, behind what all prompts begin with.

        `first` is the place of the first one in the batch.
        """
        lengths = [len(p) for p in prompts]
        ends = torch.tensor(lengths).cumsum(0)
        return cls(
            tokens=torch.tensor([t for p in prompts for t in p], device=device),
            positions=torch.cat([torch.arange(begin, begin + n) for n in lengths]).to(device),
            last=(ends - 1).to(device),
            groups=tuple(_groups(lengths, first)),
        )


def _groups(lengths: list[int], first: int) -> list[tuple[int, int, int, int]]:
    groups, place, token = [], 0, 0
    for length in sorted(set(lengths)):
        count = lengths.count(length)
        groups.append((first + place, count, token, length))
        place, token = place + count, token + count * length
    return groups


class Rotary:
    """Cosines and sines of positions 0 … count−1, as the model's own rotary module gives them."""

    def __init__(self, module: Any, count: int, dtype: torch.dtype, device: torch.device) -> None:
        positions = torch.arange(count, device=device).unsqueeze(0)
        cos, sin = module(torch.zeros(1, dtype=dtype, device=device), positions)
        half = cos.shape[-1] // 2
        self._cos = cos[0]
        # The minus of rotate_half stands in the table, so that a turn is two products of swapped halves.
        self._sin = torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(cos, signed sin) [R, 1, hd] of positions [R], to be multiplied with [R, heads, hd]."""
        return self._cos[positions].unsqueeze(1), self._sin[positions].unsqueeze(1)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of [R, heads, hd]."""
    first, second = x.chunk(2, dim=-1)
    return (x * cos).addcmul_(torch.cat((second, first), dim=-1), sin)


class Forward:
    """Runs `weights` of the given shape.

    Of the rows it uses the caches k0, v0, k1, …, and mask [R, 1, columns] where there is one.
    """

    def __init__(self, shape: Shape, weights: Weights, rotary: Rotary) -> None:
        self._shape = shape
        self._weights = weights
        self._rotary = rotary
        self._beginnings: dict[int, tuple[Tensor, Tensor]] = {}

    def read_beginning(self, tokens: Sequence[int], device: torch.device) -> None:
        """Reads what all prompts begin with, once for all that `read` is given afterwards."""

        def attend(layer: int, heads: Heads) -> Tensor:
            q, k, v = (_by_prompt(t, 1) for t in heads)
            self._beginnings[layer] = k, v
            return _attend_to_prompt(q, k, v)

        self._read(Prompts.pack([tokens], 0, device), attend)

    def read(self, prompts: Prompts, rows: Rows, width: int) -> Tensor:
        """Reads prompts into the columns up to `width`; gives the logits after each one, [M, prompts, vocabulary]."""
        members, deepest = self._weights.members, len(self._shape.layers) - 1

        def attend(layer: int, heads: Heads) -> Tensor:
            caches = [_of_members(rows.caches[f"{kind}{layer}"][:width], 1, members) for kind in "kv"]
            outs = []
            for place, count, start, length in prompts.groups:
                q, k, v = (_by_prompt(t[:, start : start + count * length], count) for t in heads)
                begun = self._beginnings.get(layer, (k[:, :1, :, :0], v[:, :1, :, :0]))
                into = (cache[:, :, place : place + count] for cache in caches)
                k, v = (_put(*parts) for parts in zip(begun, (k, v), into, strict=True))
                outs.append(_attend_to_prompt(q[..., -1:, :] if layer == deepest else q, k, v))
            return torch.cat(outs, dim=1)

        logits = self._logits(self._read(prompts, attend, keep=prompts.last), Even(members))
        return logits.view(members, len(prompts.last), -1)

    def _read(self, prompts: Prompts, attend: Callable[[int, Heads], Tensor], keep: Tensor | None = None) -> Tensor:
        """All layers over packed prompts. `attend` takes and gives [M, tokens, …]."""
        members = self._weights.members
        cos, sin = (t.repeat(members, 1, 1) for t in self._rotary.at(prompts.positions))

        def of_layer(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = (_of_members(t, 0, members) for t in self._heads(qkv, cos, sin))
            return attend(layer, (q, k, v)).flatten(0, 1)

        even = Even(members)
        return self._layers(self._weights.embed(prompts.tokens.repeat(members), even), even, of_layer, keep)

    def write(self, tokens: Tensor, positions: Tensor, rows: Rows, column: int) -> Tensor:
        """Takes each answer's newest token [R] into `column`; gives the logits after it, [R, vocabulary]."""
        cos, sin = self._rotary.at(positions)
        mask = rows["mask"][..., : column + 1] if "mask" in rows else None

        def attend(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = self._heads(qkv, cos, sin)
            keys, values = rows.caches[f"k{layer}"], rows.caches[f"v{layer}"]
            keys[column] = k
            values[column] = v
            grouped = q.reshape(len(q), self._shape.kv_heads, -1, q.shape[-1])
            return _attend_to_cache(grouped, keys[: column + 1], values[: column + 1], mask).flatten(1)

        x = self._weights.embed(tokens, rows.placement)
        return self._logits(self._layers(x, rows.placement, attend), rows.placement)

    def _layers(self, x: Tensor, rows: Placement, attend: Attend, keep: Tensor | None = None) -> Tensor:
        """All layers and the last norm. With `keep`, the deepest layer goes on with those tokens of each member alone:
        it has no later layer that would look at the others."""
        for index, layer in enumerate(self._shape.layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_in, x, rows), rows)
            if keep is not None and index == len(self._shape.layers) - 1:
                x = rows.gather(rows.spread(x).index_select(1, keep))
            x = x + self._weights.linear(layer.out, attend(index, qkv), rows)
            x += self._mlp(layer, x, rows)
        return self._normed(self._shape.norm, x, rows)

    def _mlp(self, layer: Layer, x: Tensor, rows: Placement) -> Tensor:
        gate, up = self._weights.linear(layer.gate_up, self._normed(layer.norm_post, x, rows), rows).chunk(2, dim=-1)
        return self._weights.linear(layer.down, functional.silu(gate).mul_(up), rows)

    def _normed(self, name: str, x: Tensor, rows: Placement) -> Tensor:
        return self._weights.scaled(functional.rms_norm(x, x.shape[-1:], eps=self._shape.eps), name, rows)

    def _logits(self, x: Tensor, rows: Placement) -> Tensor:
        return self._weights.linear(self._shape.head, x, rows)

    def _heads(self, qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[R, (h + 2 kv)·hd] -> turned q [R, h, hd], turned k and plain v [R, kv, hd]."""
        heads, kv = self._shape.heads, self._shape.kv_heads
        split = qkv.view(len(qkv), heads + 2 * kv, self._shape.head_dim)
        turned = rotated(split[:, : heads + kv], cos, sin)
        return turned[:, :heads], turned[:, heads:], split[:, heads + kv :]


def _of_members(x: Tensor, dim: int, members: int) -> Tensor:
    """[…, R, …] -> […, M, R / M, …]."""
    return x.view(*x.shape[:dim], members, -1, *x.shape[dim + 1 :])


def _by_prompt(x: Tensor, count: int) -> Tensor:
    """[M, count·L, heads, hd] -> [M, count, heads, L, hd]."""
    return x.view(len(x), count, -1, *x.shape[2:]).transpose(2, 3)


def _put(begun: Tensor, own: Tensor, cache: Tensor) -> Tensor:
    """Fills the cache's columns [width, M, p, kv, hd] flush right with what all prompts begin with, [M, 1, kv, B, hd],
    and each one's own, [M, p, kv, L, hd]. Gives what was written, [M, p, kv, B + L, hd]."""
    columns, length = cache.permute(1, 2, 3, 0, 4), own.shape[3]
    start = columns.shape[3] - length - begun.shape[3]
    # Nothing is ever written before; the mask hides numbers there, but not a NaN.
    columns[..., :start, :] = 0
    columns[..., start:-length, :] = begun
    columns[..., -length:, :] = own
    return columns[..., start:, :]


def _attend_to_prompt(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of the last L tokens of prompts: q [M, p, heads, L, hd] to k, v [M, p, kv, T, hd]
    -> [M, p·L, heads·hd]."""
    members, length, before = len(q), q.shape[3], k.shape[3] - q.shape[3]
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    mask = None
    if before and length > 1:
        mask = torch.ones(length, before + length, dtype=torch.bool, device=q.device).tril(before)
    causal = not before and length > 1
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=True)
    return out.transpose(1, 2).reshape(members, -1, out.shape[1] * out.shape[3])


def _attend_to_cache(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of one new token to all before it: q [R, kv, h/kv, hd] to k, v [T, R, kv, hd], mask [R, 1, T]."""
    if q.is_cuda or q.dtype != torch.float32:
        k, v, wide = k.permute(1, 2, 0, 3), v.permute(1, 2, 0, 3), None if mask is None else mask.unsqueeze(1)
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=wide)
    # Two small batched products: on a CPU faster than its fused kernel, which is made for long queries.
    first = q.new_zeros(1, 1, 1) if mask is None else mask.repeat_interleave(q.shape[1], dim=0)
    keys, values = k.flatten(1, 2).permute(1, 2, 0), v.flatten(1, 2).transpose(0, 1)
    scores = torch.baddbmm(first, q.flatten(0, 1), keys, alpha=q.shape[-1] ** -0.5, beta=0 if mask is None else 1)
    return torch.bmm(scores.softmax(dim=-1), values).view(q.shape)
