"""Interface of weights for the forward pass: one model's, or a whole population's in the same batch.

Activations are [R, …], one row per token: while prompts are read, the tokens of all prompts for each member in turn;
while responses are written, the newest token of each unfinished response. `Placement` maps rows to members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from workers.models.decoder.rows import Placement
from workers.models.decoder.shape import Map, Shape

# Fused q·k·v and gate·up are copies; for a larger model the copy costs more than the saved kernel launches.
FUSE_BYTES = 256 * 1024 * 1024


class Weights(Protocol):
    """The weights of `members` models of one shape."""

    members: int

    def embed(self, tokens: Tensor, rows: Placement) -> Tensor:
        """Embed tokens [R] -> [R, d]."""

    def scaled(self, x: Tensor, norm: str, rows: Placement) -> Tensor:
        """Multiply [R, d] or [R, heads, hd] by the factor of an RMSNorm, which is float32 if its norms have an
        offset."""

    def linear(self, over: Map, x: Tensor, rows: Placement) -> Tensor:
        """Map [R, in] -> [R, out], the parts of `over` side by side."""


class Plain:
    """One model's own weights. They are read on creation: make another after an update."""

    members = 1

    def __init__(self, parameters: Mapping[str, Tensor], shape: Shape) -> None:
        self._parameters = parameters
        self._embed = shape.embed
        self._norms = norm_factors(parameters, shape)
        total = sum(p.numel() * p.element_size() for p in parameters.values())
        self._matrices = {over: matrices(parameters, over, fuse=total <= FUSE_BYTES) for over in shape.maps}

    def embed(self, tokens: Tensor, rows: Placement) -> Tensor:
        return functional.embedding(tokens, self._parameters[self._embed])

    def scaled(self, x: Tensor, norm: str, rows: Placement) -> Tensor:
        return x * self._norms[norm]

    def linear(self, over: Map, x: Tensor, rows: Placement) -> Tensor:
        outs = [functional.linear(x, weight, bias) for weight, bias in self._matrices[over]]
        return outs[0] if len(outs) == 1 else torch.cat(outs, dim=-1)


def norm_factors(parameters: Mapping[str, Tensor], shape: Shape) -> dict[str, Tensor]:
    """Return the factor […, n] of each RMSNorm among the parameters: its weight, or 1 + weight in float32."""
    weights = {name: parameters[name] for name in shape.norms if name in parameters}
    if not shape.has_offset_norms:
        return weights
    return {name: 1.0 + weight.float() for name, weight in weights.items()}


Matrix = tuple[Tensor, Tensor | None]


def matrices(parameters: Mapping[str, Tensor], over: Map, fuse: bool = True) -> list[Matrix]:
    """Weight […, out, in] and bias […, out] of each part, or of all parts as one."""
    weights = [parameters[name] for name in over.weights]
    biases = [parameters.get(name) for name in over.biases]
    if len(weights) == 1 or not fuse:
        return list(zip(weights, biases, strict=True))
    return [(torch.cat(weights, dim=-2), side_by_side(biases, [w.shape[-2] for w in weights]))]


def side_by_side(parts: list[Tensor | None], sizes: list[int]) -> Tensor | None:
    """Join vectors […, n] end to end, zeros of the given size for a missing one; return None if all are missing."""
    like = next((part for part in parts if part is not None), None)
    if like is None:
        return None
    zeros = (like.new_zeros(*like.shape[:-1], size) for size in sizes)
    return torch.cat([zero if part is None else part for part, zero in zip(parts, zeros, strict=True)], dim=-1)
