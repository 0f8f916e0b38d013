"""Attention of one layer: inside prompts that are read, and of each answer's newest token to all before it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Attention:
    """Softmax attention with the scores cap(scale · q·k).

    `softcap`: c of c · tanh(score / c), or None. `window`: each token attends to so many, itself included; None: to all
    before it. Scores that are capped are written out, since torch's fused kernels know no cap.
    """

    scale: float
    softcap: float | None = None
    window: int | None = None

    def to_prompt(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend from the last L tokens of each prompt: q [M, p, heads, L, hd] to k, v [M, p, kv, T, hd] -> [M, p·L,
        heads·hd]."""
        members, length, before = len(q), q.shape[3], k.shape[3] - q.shape[3]
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        mask = self._mask(length, before, q.device)
        if self.softcap is not None:
            out = self._written_out(q, k, v, mask)
        else:
            out = functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=mask is None, scale=self.scale, enable_gqa=True
            )
        return out.transpose(1, 2).reshape(members, -1, out.shape[1] * out.shape[3])

    def to_cache(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Attend from one new token to all before it and itself, the last of them: q [R, kv, h/kv, hd] to k, v [T, R,
        kv, hd], where `mask` [R, 1, T] is added to the scores -> [R, kv, h/kv, hd]."""
        if self.window is not None:
            # All rows write into the same column, so that their windows are the same columns.
            k, v, mask = k[-self.window :], v[-self.window :], None if mask is None else mask[..., -self.window :]
        if self.softcap is None and (q.is_cuda or q.dtype != torch.float32):
            k, v, wide = k.permute(1, 2, 0, 3), v.permute(1, 2, 0, 3), None if mask is None else mask.unsqueeze(1)
            return functional.scaled_dot_product_attention(q, k, v, attn_mask=wide, scale=self.scale)
        # Two small batched products: on a CPU faster than its fused kernel, which is made for long queries.
        first = q.new_zeros(1, 1, 1) if mask is None else mask.repeat_interleave(q.shape[1], dim=0)
        keys, values = k.flatten(1, 2).permute(1, 2, 0), v.flatten(1, 2).transpose(0, 1)
        if self.softcap is None:
            scores = torch.baddbmm(first, q.flatten(0, 1), keys, alpha=self.scale, beta=0 if mask is None else 1)
        else:
            scores = capped(torch.bmm(q.flatten(0, 1), keys).mul_(self.scale), self.softcap).add_(first)
        return torch.bmm(scores.softmax(dim=-1, dtype=torch.float32).to(q.dtype), values).view(q.shape)

    def _mask(self, length: int, before: int, device: torch.device) -> Tensor | None:
        """True [L, T] where the last L of T tokens look; None where plain causal attention of all T does the same."""
        has_whole_window = self.window is None or before + length <= self.window
        if has_whole_window and not before and self.softcap is None:
            return None
        mask = torch.ones(length, before + length, dtype=torch.bool, device=device).tril(before)
        return mask if has_whole_window else mask.triu(before + 1 - (self.window or 0))

    def _written_out(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Attend with written-out scores: q [n, heads, L, hd] to k, v [n, kv, T, hd], mask [L, T] -> [n, heads, L,
        hd]."""
        grouped = q.reshape(len(q), k.shape[1], -1, q.shape[3])
        scores = capped(grouped.matmul(k.transpose(2, 3)).mul_(self.scale), self.softcap)
        if mask is not None:
            by_query = scores.view(*scores.shape[:2], -1, *mask.shape)
            by_query.masked_fill_(~mask, -torch.inf)
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(q.dtype)
        return weights.matmul(v).view(q.shape)


def capped(x: Tensor, softcap: float | None) -> Tensor:
    """Return c · tanh(x / c), in place and rounded after each step as transformers rounds it; x itself without a
    cap."""
    return x if softcap is None else x.div_(softcap).tanh_().mul_(softcap)
