"""The forward pass of a Qwen2- or Llama-shaped decoder, for one model or a population (see `weights.py`).

Prompts are read packed, end to end without padding; their keys and values go into the cache flush right, so that all
answers write their next token into the same column. No autograd, no dropout, no output of attention weights.
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


@dataclass(frozen=True)
class Prompts:
    """Prompts packed end to end, sorted by length. `groups`: (first prompt, prompts, first token, tokens in each)."""

    tokens: Tensor
    positions: Tensor
    last: Tensor
    groups: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def pack(cls, prompts: Sequence[Sequence[int]], first: int, device: torch.device) -> Prompts:
        """Packs token lists sorted by length; `first` is the place of the first one in the batch."""
        lengths = [len(p) for p in prompts]
        ends = torch.tensor(lengths).cumsum(0)
        return cls(
            tokens=torch.tensor([t for p in prompts for t in p], device=device),
            positions=torch.cat([torch.arange(n) for n in lengths]).to(device),
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

    Of the rows it uses k0, v0, k1, … [R, kv heads, columns, hd], and mask [R, 1, 1, columns] where there is one.
    """

    def __init__(self, shape: Shape, weights: Weights, rotary: Rotary) -> None:
        self._shape = shape
        self._weights = weights
        self._rotary = rotary

    def read(self, prompts: Prompts, rows: Rows, width: int) -> Tensor:
        """Reads prompts into the columns up to `width`; gives the logits after each one, [M, prompts, vocabulary]."""
        members, deepest = self._weights.members, len(self._shape.layers) - 1
        cos, sin = (t.repeat(members, 1, 1) for t in self._rotary.at(prompts.positions))

        def attend(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = (t.view(members, -1, *t.shape[1:]) for t in self._heads(qkv, cos, sin))
            keys, values = (t.view(members, -1, *t.shape[1:]) for t in (rows[f"k{layer}"], rows[f"v{layer}"]))
            outs = []
            for place, count, start, length in prompts.groups:
                qq, kk, vv = (_by_prompt(t[:, start : start + count * length], count) for t in (q, k, v))
                keys[:, place : place + count, :, width - length : width] = kk
                values[:, place : place + count, :, width - length : width] = vv
                outs.append(_attend_to_prompt(qq, kk, vv, only_last=layer == deepest))
            return torch.cat(outs, dim=1).flatten(0, 1)

        even = Even(members)
        x = self._weights.embed(prompts.tokens.repeat(members), even)
        logits = self._logits(self._layers(x, even, attend, keep=prompts.last), even)
        return logits.view(members, len(prompts.last), -1)

    def write(self, tokens: Tensor, positions: Tensor, rows: Rows, column: int) -> Tensor:
        """Takes each answer's newest token [R] into `column`; gives the logits after it, [R, vocabulary]."""
        cos, sin = self._rotary.at(positions)
        mask = rows["mask"][..., : column + 1] if "mask" in rows else None

        def attend(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = self._heads(qkv, cos, sin)
            keys, values = rows[f"k{layer}"], rows[f"v{layer}"]
            keys[:, :, column] = k
            values[:, :, column] = v
            grouped = q.reshape(len(q), self._shape.kv_heads, -1, q.shape[-1])
            return _attend_to_cache(grouped, keys[:, :, : column + 1], values[:, :, : column + 1], mask).flatten(1)

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


def _by_prompt(x: Tensor, count: int) -> Tensor:
    """[M, count·L, heads, hd] -> [M, count, heads, L, hd]."""
    return x.view(len(x), count, -1, *x.shape[2:]).transpose(2, 3)


def _attend_to_prompt(q: Tensor, k: Tensor, v: Tensor, only_last: bool) -> Tensor:
    """Causal attention inside prompts of one length: [M, p, heads, L, hd] -> [M, p·L, h·hd].

    With `only_last` the last token of each prompt alone looks back: [M, p, h·hd].
    """
    members, prompts = q.shape[:2]
    q = q[..., -1:, :] if only_last else q
    q, k, v = (t.reshape(-1, *t.shape[2:]) for t in (q, k, v))
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=not only_last, enable_gqa=True)
    return out.transpose(1, 2).reshape(members, prompts * q.shape[2], -1)


def _attend_to_cache(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of one new token to all before it: q [R, kv, h/kv, hd] to k, v [R, kv, T, hd]."""
    if q.is_cuda or q.dtype != torch.float32:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    # Two small batched products: on a CPU faster than its fused kernel, which is made for long queries.
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))
    if mask is not None:
        scores += mask
    return torch.matmul(scores.softmax(dim=-1), v)
