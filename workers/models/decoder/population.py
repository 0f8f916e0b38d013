"""Weights of a population, all of whose members answer in one batch.

LowRank: W_m = W + A_m B_mᵀ (EGGROLL, arXiv 2511.16652; LoRA, arXiv 2106.09685). The base product is computed once for
all rows, and each member's rows add (x B_m) A_mᵀ: nothing of the size of the model is copied.
Stacked: every member has weights of its own, and a product is one batch over members. It costs M copies of the model.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workers.models.decoder.shape import Map, Shape
from workers.models.decoder.weights import Plain, matrices, side_by_side


class LowRank(Plain):
    """One model and M low-rank differences from it.

    `factors`: matrix name -> (A [M, out, r], B [M, in, r]), any scale included. `vectors`: name -> [M, n], the members'
    own norms and biases. What neither names is the base model's.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        shape: Shape,
        factors: Mapping[str, tuple[Tensor, Tensor]],
        vectors: Mapping[str, Tensor],
    ) -> None:
        # A bias that members own must not be added twice.
        super().__init__({k: v for k, v in parameters.items() if k not in vectors}, shape)
        self.members = len(next(iter(factors.values()))[0])
        self._sizes = {name: len(parameters[name]) for over in shape.maps for name in over.weights}
        self._embed_factors = factors.get(shape.embed)
        self._vectors = vectors
        self._factors = {over: self._joined_factors(over, factors) for over in shape.maps}
        self._biases = {over: self._joined_biases(over) for over in shape.maps}

    def embed(self, tokens: Tensor) -> Tensor:
        x = super().embed(tokens)
        if self._embed_factors is None:
            return x
        a, b = self._embed_factors
        mine = a[torch.arange(self.members, device=tokens.device), tokens]
        by_member(x).baddbmm_(by_member(mine), b.transpose(1, 2))
        return x

    def norm(self, name: str) -> Tensor:
        return self._vectors[name] if name in self._vectors else super().norm(name)

    def linear(self, over: Map, x: Tensor) -> Tensor:
        y = super().linear(over, x)
        if (bias := self._biases[over]) is not None:
            y += bias
        if (factors := self._factors[over]) is not None:
            a, b = factors
            by_member(y).baddbmm_(torch.bmm(by_member(x), b), a)
        return y

    def _joined_factors(self, over: Map, factors: Mapping[str, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor] | None:
        """(A [M, Σr, Σout] with a block for each part, B [M, in, Σr])."""
        found = [(name, factors[name]) for name in over.weights if name in factors]
        if not found:
            return None
        wide = sum(self._sizes[name] for name in over.weights)
        starts = dict(zip(over.weights, _starts([self._sizes[name] for name in over.weights]), strict=True))
        blocks = []
        for name, (a, _) in found:
            block = a.new_zeros(self.members, a.shape[2], wide)
            block[:, :, starts[name] : starts[name] + self._sizes[name]] = a.transpose(1, 2)
            blocks.append(block)
        return torch.cat(blocks, dim=1), torch.cat([b for _, (_, b) in found], dim=2)

    def _joined_biases(self, over: Map) -> Tensor | None:
        return side_by_side([self._vectors.get(b) for b in over.biases], [self._sizes[w] for w in over.weights])


class Stacked:
    """`parameters`: every name -> [M, …]."""

    def __init__(self, parameters: Mapping[str, Tensor], shape: Shape) -> None:
        self._parameters = parameters
        self._table = parameters[shape.embed]
        self.members = len(self._table)
        self._index = torch.arange(self.members, device=self._table.device)
        self._matrices = {over: matrices(parameters, over)[0] for over in shape.maps}

    def embed(self, tokens: Tensor) -> Tensor:
        return self._table[self._index, tokens]

    def norm(self, name: str) -> Tensor:
        return self._parameters[name]

    def linear(self, over: Map, x: Tensor) -> Tensor:
        weight, bias = self._matrices[over]
        y = torch.bmm(by_member(x), weight.transpose(1, 2)).transpose(0, 1)
        return y if bias is None else y + bias


def by_member(x: Tensor) -> Tensor:
    """[T, M, n] <-> [M, T, n], a view."""
    return x.transpose(0, 1)


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]
