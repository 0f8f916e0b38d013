"""The forward pass of a Qwen2- or Llama-shaped decoder, for one model or a population (see `weights.py`).

Prompts are read packed, end to end without padding; their keys and values go into the cache flush right, so that all
answers write their next token into the same column. What all prompts begin with (a chat template's first tokens, a
system message) is read once. The last token of a prompt is taken like those of the answer, so that reading is done when
the deepest layer has its keys and values. No autograd, no dropout, no output of attention weights.
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

KeysValues = tuple[Tensor, Tensor]
Keep = Callable[[int, Tensor, Tensor], Sequence[KeysValues]]
"""(layer, keys, values [M, tokens, kv, hd]) -> of each group what its prompts look at, [M, p, kv, T, hd]."""


@dataclass(frozen=True)
class Prompts:
    """Prompts without what all begin with, packed end to end, sorted by length.

    `groups`: (first prompt, prompts, first token, tokens in each).
    """

    tokens: Tensor
    positions: Tensor
    groups: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def pack(cls, prompts: Sequence[Sequence[int]], first: int, device: torch.device, begin: int = 0) -> Prompts:
        """Packs token lists sorted by length, which stand at position `begin`, behind what all prompts begin with.

        `first` is the place of the first one in the batch.
        """
        lengths = [len(p) for p in prompts]
        return cls(
            tokens=torch.tensor([t for p in prompts for t in p], device=device),
            positions=torch.cat([torch.arange(begin, begin + n) for n in lengths]).to(device),
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
        self._beginnings: dict[int, KeysValues] = {}

    def read_beginning(self, tokens: Sequence[int], device: torch.device) -> None:
        """Reads what all prompts begin with, once for all that `read` is given afterwards."""

        def keep(layer: int, k: Tensor, v: Tensor) -> Sequence[KeysValues]:
            self._beginnings[layer] = _by_prompt(k, 1), _by_prompt(v, 1)
            return [self._beginnings[layer]]

        self._read(Prompts.pack([tokens], 0, device), keep)

    def read(self, prompts: Prompts, rows: Rows, width: int) -> None:
        """Reads prompts into the caches' columns up to `width`."""
        members = self._weights.members

        def keep(layer: int, k: Tensor, v: Tensor) -> Sequence[KeysValues]:
            k_cache, v_cache = (rows.of_members(f"{kind}{layer}", members, width) for kind in "kv")
            k_begun, v_begun = self._beginnings.get(layer, (None, None))
            kept = []
            for place, count, start, length in prompts.groups:
                own, here = slice(start, start + count * length), slice(place, place + count)
                kk = _put(k_begun, _by_prompt(k[:, own], count), k_cache[:, :, here])
                kept.append((kk, _put(v_begun, _by_prompt(v[:, own], count), v_cache[:, :, here])))
            return kept

        self._read(prompts, keep)

    def _read(self, prompts: Prompts, keep: Keep) -> None:
        even = Even(self._weights.members)
        cos, sin = (t.repeat(even.members, 1, 1) for t in self._rotary.at(prompts.positions))
        x = self._weights.embed(prompts.tokens.repeat(even.members), even)
        *layers, deepest = self._shape.layers
        for index, layer in enumerate(layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_attention, x, even), even)
            q, k, v = (t.view(even.members, len(prompts.tokens), *t.shape[1:]) for t in self._heads(qkv, cos, sin))
            x = self._onward(layer, x, _attend_to_prompts(q, keep(index, k, v), prompts), even)
        kv = self._weights.linear(deepest.kv, self._normed(deepest.norm_attention, x, even), even)
        _, k, v = (t.view(even.members, len(prompts.tokens), *t.shape[1:]) for t in self._heads(kv, cos, sin))
        keep(len(layers), k, v)

    def write(self, tokens: Tensor, positions: Tensor, rows: Rows, column: int) -> Tensor:
        """Takes each answer's newest token [R] into `column`; gives the logits after it, [R, vocabulary]."""
        cos, sin = self._rotary.at(positions)
        mask = rows["mask"][..., : column + 1] if "mask" in rows else None
        placement = rows.placement
        x = self._weights.embed(tokens, placement)
        for index, layer in enumerate(self._shape.layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_attention, x, placement), placement)
            q, k, v = self._heads(qkv, cos, sin)
            keys, values = (rows.cache(f"{kind}{index}", column + 1) for kind in "kv")
            keys[column], values[column] = k, v
            grouped = q.reshape(len(q), self._shape.kv_heads, -1, q.shape[-1])
            attended = _attend_to_cache(grouped, keys, values, mask)
            x = self._onward(layer, x, attended.flatten(1), placement)
        return self._weights.linear(self._shape.head, self._normed(self._shape.norm, x, placement), placement)

    def _onward(self, layer: Layer, x: Tensor, attended: Tensor, rows: Placement) -> Tensor:
        """The rest of a layer, behind its attention."""
        x = x + self._weights.linear(layer.out, attended, rows)
        x += self._mlp(layer, x, rows)
        return x

    def _mlp(self, layer: Layer, x: Tensor, rows: Placement) -> Tensor:
        gate, up = self._weights.linear(layer.gate_up, self._normed(layer.norm_mlp, x, rows), rows).chunk(2, dim=-1)
        return self._weights.linear(layer.down, functional.silu(gate).mul_(up), rows)

    def _normed(self, name: str, x: Tensor, rows: Placement) -> Tensor:
        return self._weights.scaled(functional.rms_norm(x, x.shape[-1:], eps=self._shape.eps), name, rows)

    def _heads(self, projected: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[R, (h + 2 kv)·hd] -> turned q [R, h, hd], turned k and plain v [R, kv, hd]; without q where it has none."""
        split = projected.view(len(projected), -1, self._shape.head_dim)
        values_from = split.shape[1] - self._shape.kv_heads
        keys_from = values_from - self._shape.kv_heads
        turned = rotated(split[:, :values_from], cos, sin)
        return turned[:, :keys_from], turned[:, keys_from:], split[:, values_from:]


def _by_prompt(x: Tensor, count: int) -> Tensor:
    """[M, count·L, heads, hd] -> [M, count, heads, L, hd]."""
    return x.view(len(x), count, -1, *x.shape[2:]).transpose(2, 3)


def _put(begun: Tensor | None, own: Tensor, cache: Tensor) -> Tensor:
    """Fills the cache's columns [width, M, p, kv, hd] flush right with what all prompts begin with, [M, 1, kv, B, hd],
    and each one's own, [M, p, kv, L, hd]. Gives what was written, [M, p, kv, B + L, hd]."""
    columns, length = cache.permute(1, 2, 3, 0, 4), own.shape[3]
    start = columns.shape[3] - length - (0 if begun is None else begun.shape[3])
    # Nothing is ever written before; the mask hides numbers there, but not a NaN.
    columns[..., :start, :] = 0
    if begun is not None:
        columns[..., start:-length, :] = begun
    columns[..., -length:, :] = own
    return columns[..., start:, :]


def _attend_to_prompts(q: Tensor, kept: Sequence[KeysValues], prompts: Prompts) -> Tensor:
    """Causal attention inside prompts: q [M, tokens, heads, hd] -> [M · tokens, heads · hd]."""
    outs = []
    for (_, count, start, length), (k, v) in zip(prompts.groups, kept, strict=True):
        outs.append(_attend_to_prompt(_by_prompt(q[:, start : start + count * length], count), k, v))
    return torch.cat(outs, dim=1).flatten(0, 1)


def _attend_to_prompt(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The last L tokens of each prompt look back: q [M, p, heads, L, hd] to k, v [M, p, kv, T, hd]
    -> [M, p·L, heads·hd]."""
    members, length, before = len(q), q.shape[3], k.shape[3] - q.shape[3]
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    mask = torch.ones(length, before + length, dtype=torch.bool, device=q.device).tril(before) if before else None
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=not before, enable_gqa=True)
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
