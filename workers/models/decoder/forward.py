"""The forward pass of a decoder, for one model or a population (see `weights.py`).

Prompts are read packed, end to end without padding; their keys and values go into the cache flush right, so that all
answers write their next token into the same column. What all prompts begin with (a chat template's first tokens, a
system message) is read once. The last token of a prompt is taken like those of the answer, so that reading is done when
the deepest layer has its keys and values. No autograd, no dropout, no output of attention weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from workers.models.decoder.attention import Attention, capped
from workers.models.decoder.rows import Even, Placement, Rows
from workers.models.decoder.shape import Layer, Shape
from workers.models.decoder.weights import Weights

KeysValues = tuple[Tensor, Tensor]
Rotations = dict[str, tuple[Tensor, Tensor]]
"""Layer type -> (cos, signed sin) [R, 1, hd] of each row's position, to be multiplied with [R, heads, hd]."""
Keep = Callable[[int, Tensor, Tensor], Sequence[KeysValues]]
"""(layer, keys, values [M, tokens, kv, hd]) -> of each group what its prompts look at, [M, p, kv, T, hd]."""
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
}


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
        """Pack token lists sorted by length, which start at position `begin`, after what all prompts begin with.

        `first` is the index of the first one in the batch.
        """
        lengths = [len(p) for p in prompts]
        return cls(
            tokens=torch.tensor([t for p in prompts for t in p], device=device),
            positions=torch.cat([torch.arange(begin, begin + n) for n in lengths]).to(device),
            groups=tuple(_groups(lengths, first)),
        )


def _groups(lengths: list[int], first: int) -> list[tuple[int, int, int, int]]:
    groups, index, token = [], 0, 0
    for length in sorted(set(lengths)):
        count = lengths.count(length)
        groups.append((first + index, count, token, length))
        index, token = index + count, token + count * length
    return groups


class Rotary:
    """Cosines and sines of positions 0 … count−1, as the model's own rotary module gives them.

    `kinds` are the layer types; a module that has `layer_types` itself is called for a table of each.
    """

    def __init__(
        self, module: Any, kinds: Collection[str], count: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        like, positions = torch.zeros(1, dtype=dtype, device=device), torch.arange(count, device=device).unsqueeze(0)
        has_several = hasattr(module, "layer_types")
        self._tables = {
            kind: _signed(*module(like, positions, *((kind,) if has_several else ()))) for kind in sorted(kinds)
        }

    def at(self, positions: Tensor) -> Rotations:
        """Return the rotations of positions [R]."""
        tables = self._tables.items()
        return {kind: (cos[positions].unsqueeze(1), sin[positions].unsqueeze(1)) for kind, (cos, sin) in tables}


def _signed(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Return [1, count, hd] as [count, hd], with the minus of rotate_half in the table, so that a turn is two
    products."""
    half = cos.shape[-1] // 2
    return cos[0], torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)


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
        self._activate = ACTIVATIONS[shape.activation]
        self._attentions = [
            Attention(shape.attention_scale, shape.attention_softcap, layer.window) for layer in shape.layers
        ]
        self._beginnings: dict[int, KeysValues] = {}

    def read_beginning(self, tokens: Sequence[int], device: torch.device) -> None:
        """Read what all prompts begin with, once for all later calls of `read`."""

        def keep(layer: int, k: Tensor, v: Tensor) -> Sequence[KeysValues]:
            self._beginnings[layer] = _by_prompt(k, 1), _by_prompt(v, 1)
            return [self._beginnings[layer]]

        self._read(Prompts.pack([tokens], 0, device), keep)

    def read(self, prompts: Prompts, rows: Rows, width: int) -> None:
        """Read prompts into the caches' columns up to `width`."""
        members = self._weights.members

        def keep(layer: int, k: Tensor, v: Tensor) -> Sequence[KeysValues]:
            k_cache, v_cache = (rows.of_members(f"{kind}{layer}", members, width) for kind in "kv")
            k_begun, v_begun = self._beginnings.get(layer, (None, None))
            keys_values = []
            for index, count, start, length in prompts.groups:
                own, here = slice(start, start + count * length), slice(index, index + count)
                kk = _put(k_begun, _by_prompt(k[:, own], count), k_cache[:, :, here])
                keys_values.append((kk, _put(v_begun, _by_prompt(v[:, own], count), v_cache[:, :, here])))
            return keys_values

        self._read(prompts, keep)

    def _read(self, prompts: Prompts, keep: Keep) -> None:
        even = Even(self._weights.members)
        rotations = self._rotary.at(prompts.positions.repeat(even.members))
        x = self._embedded(prompts.tokens.repeat(even.members), even)
        *layers, deepest = self._shape.layers
        for index, layer in enumerate(layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_attention, x, even), even)
            heads = self._heads(layer, qkv, rotations, even)
            q, k, v = (t.view(even.members, len(prompts.tokens), *t.shape[1:]) for t in heads)
            x = self._onward(layer, x, _attend(self._attentions[index], q, keep(index, k, v), prompts), even)
        kv = self._weights.linear(deepest.kv, self._normed(deepest.norm_attention, x, even), even)
        heads = self._heads(deepest, kv, rotations, even)
        _, k, v = (t.view(even.members, len(prompts.tokens), *t.shape[1:]) for t in heads)
        keep(len(layers), k, v)

    def write(self, tokens: Tensor, positions: Tensor, rows: Rows, column: int) -> Tensor:
        """Write each response's newest token [R] into `column`; return the logits after it, [R, vocabulary]."""
        rotations = self._rotary.at(positions)
        mask = rows["mask"][..., : column + 1] if "mask" in rows else None
        placement = rows.placement
        x = self._embedded(tokens, placement)
        for index, layer in enumerate(self._shape.layers):
            qkv = self._weights.linear(layer.qkv, self._normed(layer.norm_attention, x, placement), placement)
            q, k, v = self._heads(layer, qkv, rotations, placement)
            keys, values = (rows.cache(f"{kind}{index}", column + 1) for kind in "kv")
            keys[column], values[column] = k, v
            grouped = q.reshape(len(q), self._shape.kv_heads, -1, q.shape[-1])
            attended = self._attentions[index].to_cache(grouped, keys, values, mask)
            x = self._onward(layer, x, attended.flatten(1), placement)
        logits = self._weights.linear(self._shape.head, self._normed(self._shape.norm, x, placement), placement)
        return capped(logits, self._shape.logit_softcap)

    def _embedded(self, tokens: Tensor, rows: Placement) -> Tensor:
        x = self._weights.embed(tokens, rows)
        # A tensor, because a plain number would be multiplied unrounded.
        return x if self._shape.embed_scale == 1.0 else x.mul_(torch.tensor(self._shape.embed_scale, dtype=x.dtype))

    def _onward(self, layer: Layer, x: Tensor, attended: Tensor, rows: Placement) -> Tensor:
        """Compute the rest of a layer, behind its attention."""
        x = x + self._added(layer.norm_attended, self._weights.linear(layer.out, attended, rows), rows)
        x += self._added(layer.norm_mlp_out, self._mlp(layer, x, rows), rows)
        return x

    def _mlp(self, layer: Layer, x: Tensor, rows: Placement) -> Tensor:
        gate, up = self._weights.linear(layer.gate_up, self._normed(layer.norm_mlp, x, rows), rows).chunk(2, dim=-1)
        return self._weights.linear(layer.down, self._activate(gate).mul_(up), rows)

    def _added(self, norm: str | None, x: Tensor, rows: Placement) -> Tensor:
        return x if norm is None else self._normed(norm, x, rows)

    def _normed(self, name: str, x: Tensor, rows: Placement) -> Tensor:
        """RMSNorm over the last dimension of [R, d] or [R, heads, hd]."""
        wide = x.float() if self._shape.has_offset_norms else x
        normed = self._weights.scaled(functional.rms_norm(wide, x.shape[-1:], eps=self._shape.eps), name, rows)
        return normed.to(x.dtype) if self._shape.has_offset_norms else normed

    def _heads(
        self, layer: Layer, projected: Tensor, rotations: Rotations, rows: Placement
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Split [R, (h + 2 kv)·hd] into turned q [R, h, hd], turned k and plain v [R, kv, hd]; without q if it has
        none."""
        split = projected.view(len(projected), -1, self._shape.head_dim)
        values_from = split.shape[1] - self._shape.kv_heads
        keys_from = values_from - self._shape.kv_heads
        turned = rotated(self._normed_heads(layer, split[:, :values_from], keys_from, rows), *rotations[layer.rotary])
        return turned[:, :keys_from], turned[:, keys_from:], split[:, values_from:]

    def _normed_heads(self, layer: Layer, qk: Tensor, keys_from: int, rows: Placement) -> Tensor:
        if layer.q_norm is None or layer.k_norm is None:
            return qk
        k = self._normed(layer.k_norm, qk[:, keys_from:], rows)
        return torch.cat((self._normed(layer.q_norm, qk[:, :keys_from], rows), k), dim=1) if keys_from else k


def _by_prompt(x: Tensor, count: int) -> Tensor:
    """Reshape [M, count·L, heads, hd] to [M, count, heads, L, hd]."""
    return x.view(len(x), count, -1, *x.shape[2:]).transpose(2, 3)


def _put(beginning: Tensor | None, own: Tensor, cache: Tensor) -> Tensor:
    """Fill the cache's columns [width, M, p, kv, hd] flush right with what all prompts begin with, [M, 1, kv, B, hd],
    and each one's own, [M, p, kv, L, hd]. Gives what was written, [M, p, kv, B + L, hd]."""
    columns, length = cache.permute(1, 2, 3, 0, 4), own.shape[3]
    start = columns.shape[3] - length - (0 if beginning is None else beginning.shape[3])
    # Nothing is ever written before; the mask hides numbers there, but not a NaN.
    columns[..., :start, :] = 0
    if beginning is not None:
        columns[..., start:-length, :] = beginning
    columns[..., -length:, :] = own
    return columns[..., start:, :]


def _attend(attention: Attention, q: Tensor, keys_values: Sequence[KeysValues], prompts: Prompts) -> Tensor:
    """Compute attention inside prompts: q [M, tokens, heads, hd] -> [M · tokens, heads · hd]."""
    outs = []
    for (_, count, start, length), (k, v) in zip(prompts.groups, keys_values, strict=True):
        outs.append(attention.to_prompt(_by_prompt(q[:, start : start + count * length], count), k, v))
    return torch.cat(outs, dim=1).flatten(0, 1)
