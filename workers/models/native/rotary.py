"""Rotary position embeddings, with the numbers of transformers' own modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from workers.models.decoder.shape import head_dim

Rotations = dict[str, tuple[Tensor, Tensor]]
"""Layer type -> (cos, sin) [rows, tokens, head dim]."""


class RotaryEmbedding(nn.Module):
    """Compute cosines and sines [rows, tokens, head dim] of positions [rows, tokens], in the precision of `x`.

    `layer_types` are those that have a table of their own (Gemma 3); without it, all layers share one.
    """

    inv_freq: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        self._scalings = {}
        if config.model_type == "gemma3_text":
            self.layer_types = sorted(set(config.layer_types))
        for kind in getattr(self, "layer_types", [None]):
            frequencies, self._scalings[kind] = _frequencies(config, kind)
            self.register_buffer(_buffer(kind), frequencies, persistent=False)

    def forward(self, x: Tensor, positions: Tensor, layer_type: str | None = None) -> tuple[Tensor, Tensor]:
        kind = layer_type if layer_type in self._scalings else None
        angles = positions[..., None].float() * self.get_buffer(_buffer(kind)).float()
        both = torch.cat((angles, angles), dim=-1)
        return (both.cos() * self._scalings[kind]).to(x.dtype), (both.sin() * self._scalings[kind]).to(x.dtype)


def rotate_half(x: Tensor) -> Tensor:
    """Return (−second, first) of the halves of the last dimension."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _buffer(kind: str | None) -> str:
    return "inv_freq" if kind is None else f"{kind}_inv_freq"


def _frequencies(config: Any, kind: str | None) -> tuple[Tensor, float]:
    """Return (radians per token [head dim / 2], the factor of cosines and sines)."""
    rope = config.rope_parameters if kind is None else config.rope_parameters[kind]
    if rope["rope_type"] != "default":
        frequencies, scaling = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, layer_type=kind)
        return frequencies, float(scaling)
    even = torch.arange(0, head_dim(config), 2, dtype=torch.float)
    return 1.0 / (rope["rope_theta"] ** (even / head_dim(config))), 1.0
