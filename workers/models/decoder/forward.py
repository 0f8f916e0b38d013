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

from workers.models.decoder.rows import Rows
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
        """(cos, signed sin) [positions…, 1, hd], to be multiplied with […, heads, hd]."""
        return self._cos[positions].unsqueeze(-2), self._sin[positions].unsqueeze(-2)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of […, heads, hd]."""
    first, second = x.chunk(2, dim=-1)
    return (x * cos).addcmul_(torch.cat((second, first), dim=-1), sin)


class Forward:
    """Runs `weights` of the given shape.

    Of the rows it uses k0, v0, k1, … [K, M, kv heads, columns, hd], and mask [K, M, 1, 1, columns] where there is one.
    """

    def __init__(self, shape: Shape, weights: Weights, rotary: Rotary) -> None:
        self._shape = shape
        self._weights = weights
        self._rotary = rotary

    def read(self, prompts: Prompts, rows: Rows, width: int) -> Tensor:
        """Reads prompts into the columns up to `width`; gives the logits after each one, [prompts, M, vocabulary]."""
        cos, sin = self._rotary.at(prompts.positions.unsqueeze(1))
        deepest = len(self._shape.layers) - 1

        def attend(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = self._heads(qkv, cos, sin)
            outs = []
            for place, count, start, length in prompts.groups:
                piece = slice(start, start + count * length)
                kk, vv = (_by_answer(t[piece], count) for t in (k, v))
                rows[f"k{layer}"][place : place + count, :, :, width - length : width] = kk
                rows[f"v{layer}"][place : place + count, :, :, width - length : width] = vv
                qq = _by_answer(q[piece], count)
                outs.append(_attend_to_prompt(qq, kk, vv, only_last=layer == deepest))
            return torch.cat(outs)

        tokens = prompts.tokens.unsqueeze(1).expand(-1, self._weights.members)
        return self._logits(self._layers(self._weights.embed(tokens), attend, keep=prompts.last))

    def write(self, tokens: Tensor, positions: Tensor, rows: Rows, column: int) -> Tensor:
        """Takes each answer's newest token [K, M] into `column`; gives the logits after it, [K, M, vocabulary]."""
        cos, sin = self._rotary.at(positions)
        mask = rows["mask"][..., : column + 1].flatten(0, 1) if "mask" in rows else None

        def attend(layer: int, qkv: Tensor) -> Tensor:
            q, k, v = self._heads(qkv, cos, sin)
            keys, values = rows[f"k{layer}"], rows[f"v{layer}"]
            keys[:, :, :, column] = k
            values[:, :, :, column] = v
            seen = [t.flatten(0, 1)[:, :, : column + 1] for t in (keys, values)]
            grouped = q.reshape(-1, self._shape.kv_heads, self._shape.heads // self._shape.kv_heads, q.shape[-1])
            return _attend_to_cache(grouped, seen[0], seen[1], mask).view(*q.shape[:2], -1)

        return self._logits(self._layers(self._weights.embed(tokens), attend))

    def _layers(self, x: Tensor, attend: Attend, keep: Tensor | None = None) -> Tensor:
        """All layers and the last norm. With `keep`, the deepest layer goes on with those tokens alone: it has no
        later layer that would look at the others."""
        for index, layer in enumerate(self._shape.layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_in, x))
            if keep is not None and index == len(self._shape.layers) - 1:
                x = x.index_select(0, keep)
            x = x + self._weights.linear(layer.out, attend(index, qkv))
            x = x + self._mlp(layer, x)
        return self._normed(self._shape.norm, x)

    def _mlp(self, layer: Layer, x: Tensor) -> Tensor:
        gate, up = self._weights.linear(layer.gate_up, self._normed(layer.norm_post, x)).chunk(2, dim=-1)
        return self._weights.linear(layer.down, functional.silu(gate) * up)

    def _normed(self, name: str, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], eps=self._shape.eps) * self._weights.norm(name)

    def _logits(self, x: Tensor) -> Tensor:
        return self._weights.linear(self._shape.head, x)

    def _heads(self, qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[T, M, (h + 2 kv)·hd] -> turned q [T, M, h, hd], turned k and plain v [T, M, kv, hd]."""
        heads, kv = self._shape.heads, self._shape.kv_heads
        split = qkv.view(*qkv.shape[:2], heads + 2 * kv, self._shape.head_dim)
        turned = rotated(split[..., : heads + kv, :], cos, sin)
        return turned[..., :heads, :], turned[..., heads:, :], split[..., heads + kv :, :]


def _by_answer(x: Tensor, count: int) -> Tensor:
    """[count·L, M, heads, hd] -> [count, M, heads, L, hd]."""
    return x.view(count, -1, *x.shape[1:]).permute(0, 2, 3, 1, 4)


def _attend_to_prompt(q: Tensor, k: Tensor, v: Tensor, only_last: bool) -> Tensor:
    """Causal attention inside prompts of one length: [p, M, heads, L, hd] -> [p·L, M, h·hd].

    With `only_last` the last token of each prompt alone looks back: [p, M, h·hd].
    """
    prompts, members = q.shape[:2]
    q = q[..., -1:, :] if only_last else q
    q, k, v = (t.reshape(-1, *t.shape[2:]) for t in (q, k, v))
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=not only_last, enable_gqa=True)
    return out.view(prompts, members, *out.shape[1:]).permute(0, 3, 1, 2, 4).flatten(0, 1).flatten(2)


def _attend_to_cache(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of one new token to all before it: q [R, kv, h/kv, hd] to k, v [R, kv, T, hd]."""
    if q.is_cuda or q.dtype != torch.float32:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    # Two small batched products: on a CPU faster than its fused kernel, which is made for long queries.
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))
    if mask is not None:
        scores += mask
    return torch.matmul(scores.softmax(dim=-1), v)
