"""The parts of a `NativeModel`: its layers, attention, MLP and norms.

Each does the operations of transformers' eager code in the same order and precision, so that results are equal to the
bit. The shape says which of them an architecture has.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from workers.models.decoder.shape import Layer, Shape
from workers.models.native.rotary import RotaryEmbedding, Rotations, rotate_half


class Body(nn.Module):
    """Turn token ids [rows, tokens] into the normed states [rows, tokens, hidden] that the head reads."""

    def __init__(self, config: Any, shape: Shape, rotary: RotaryEmbedding, biased: frozenset[str]) -> None:
        super().__init__()
        # Made from a tensor: drawing first weights on the meta device would import torch's compiler.
        weight = torch.empty(config.vocab_size, config.hidden_size)
        self.embed_tokens: nn.Embedding = nn.Embedding.from_pretrained(weight)  # type: ignore[no-untyped-call]
        self.layers = nn.ModuleList(_Layer(config, shape, layer, biased) for layer in shape.layers)
        self.norm = _RMSNorm(config.hidden_size, shape)
        self.rotary_emb = rotary
        self._embed_scale = shape.embed_scale
        self._kinds = sorted({layer.rotary for layer in shape.layers})

    def forward(self, input_ids: Tensor) -> Tensor:
        x: Tensor = self.embed_tokens(input_ids)
        if self._embed_scale != 1.0:
            # A tensor, because a plain number would be multiplied unrounded.
            x = x * torch.tensor(self._embed_scale, dtype=x.dtype, device=x.device)
        positions = torch.arange(input_ids.shape[1], device=x.device)[None]
        rotations = {kind: self.rotary_emb(x, positions, kind) for kind in self._kinds}
        for layer in self.layers:
            x = layer(x, rotations)
        normed: Tensor = self.norm(x)
        return normed


class _Layer(nn.Module):
    def __init__(self, config: Any, shape: Shape, layer: Layer, biased: frozenset[str]) -> None:
        super().__init__()
        self.self_attn = _Attention(config, shape, layer, biased)
        self.mlp = _Mlp(config, shape, layer, biased)
        self.input_layernorm = _RMSNorm(config.hidden_size, shape)
        self.post_attention_layernorm = _RMSNorm(config.hidden_size, shape)
        self._rotary, self._norms_results = layer.rotary, layer.norm_attended is not None
        if self._norms_results:
            self.pre_feedforward_layernorm = _RMSNorm(config.hidden_size, shape)
            self.post_feedforward_layernorm = _RMSNorm(config.hidden_size, shape)

    def forward(self, x: Tensor, rotations: Rotations) -> Tensor:
        attended = self.self_attn(self.input_layernorm(x), *rotations[self._rotary])
        if not self._norms_results:
            x = x + attended
            return torch.add(x, self.mlp(self.post_attention_layernorm(x)))
        x = x + self.post_attention_layernorm(attended)
        return torch.add(x, self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x))))


class _Attention(nn.Module):
    def __init__(self, config: Any, shape: Shape, layer: Layer, biased: frozenset[str]) -> None:
        super().__init__()
        self._head_dim, self._scale, self._softcap = shape.head_dim, shape.attention_scale, shape.attention_softcap
        self._window = layer.window
        # Torch's fused kernels know no cap. The class of transformers uses none of them, capped or not.
        self._is_fused = config.model_type != "gemma2"
        hidden, wide, narrow = config.hidden_size, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        q, k, v = layer.qkv.parts
        self.q_proj = nn.Linear(hidden, wide, bias=q in biased)
        self.k_proj = nn.Linear(hidden, narrow, bias=k in biased)
        self.v_proj = nn.Linear(hidden, narrow, bias=v in biased)
        self.o_proj = nn.Linear(wide, hidden, bias=layer.out.parts[0] in biased)
        self._norms_heads = layer.q_norm is not None
        if self._norms_heads:
            self.q_norm = _RMSNorm(shape.head_dim, shape)
            self.k_norm = _RMSNorm(shape.head_dim, shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (self._heads(project(x)) for project in (self.q_proj, self.k_proj, self.v_proj))
        if self._norms_heads:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        q, k = (t * cos[:, None] + rotate_half(t) * sin[:, None] for t in (q, k))
        out = self._attend_fused(q, k, v) if self._is_fused else self._attend_by_steps(q, k, v)
        projected: Tensor = self.o_proj(out.transpose(1, 2).flatten(2))
        return projected

    def _heads(self, projected: Tensor) -> Tensor:
        """Reshape [rows, tokens, heads · head dim] to [rows, tokens, heads, head dim]."""
        return projected.view(*projected.shape[:2], -1, self._head_dim)

    def _attend_fused(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend from q [rows, heads, tokens, head dim] to k, v [rows, kv heads, tokens, head dim]."""
        is_windowed = self._window is not None and q.shape[2] >= self._window
        mask = self._mask(q) if is_windowed else None
        return functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=self._scale, enable_gqa=True
        )

    def _attend_by_steps(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Compute the same as `_attend_fused`, with the scores written out."""
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
        scores = torch.matmul(q, k.transpose(2, 3)) * self._scale
        if self._softcap is not None:
            scores = torch.tanh(scores / self._softcap) * self._softcap
        scores = scores.masked_fill(~self._mask(q), -torch.inf)
        return torch.matmul(functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype), v)

    def _mask(self, q: Tensor) -> Tensor:
        """True [tokens, tokens] where a token attends to another."""
        tokens = q.shape[2]
        causal = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).tril()
        return causal if self._window is None else causal.triu(1 - self._window)


class _Mlp(nn.Module):
    def __init__(self, config: Any, shape: Shape, layer: Layer, biased: frozenset[str]) -> None:
        super().__init__()
        hidden, inner, (gate, up) = config.hidden_size, config.intermediate_size, layer.gate_up.parts
        self.gate_proj = nn.Linear(hidden, inner, bias=gate in biased)
        self.up_proj = nn.Linear(hidden, inner, bias=up in biased)
        self.down_proj = nn.Linear(inner, hidden, bias=layer.down.parts[0] in biased)
        self._is_gelu = shape.activation == "gelu_tanh"

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate_proj(x)
        active = functional.gelu(gate, approximate="tanh") if self._is_gelu else functional.silu(gate)
        projected: Tensor = self.down_proj(active * self.up_proj(x))
        return projected


class _RMSNorm(nn.Module):
    def __init__(self, size: int, shape: Shape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self._eps, self._has_offset = shape.eps, shape.has_offset_norms

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self._eps)
        if self._has_offset:
            return (normed * (1.0 + self.weight.float())).to(x.dtype)
        return self.weight * normed.to(x.dtype)
