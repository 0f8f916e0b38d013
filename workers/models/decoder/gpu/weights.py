"""Weights at fixed addresses, as captured steps read them: one model's, and what members of a population add to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.models.decoder.population import Factors
from workers.models.decoder.shape import Map, Shape
from workers.models.decoder.weights import side_by_side


class JoinedWeights:
    """A model's parameters, with the parts of each map side by side in one tensor.

    The given tensors of maps with several parts become slices of the joined tensor, so that what is written into them
    is what steps read. `matrices`: map -> [out, in]. `biases`: map -> [out], where it has any.
    """

    def __init__(self, parameters: Mapping[str, Tensor], shape: Shape) -> None:
        self.parameters = parameters
        self.matrices: dict[Map, Tensor] = {}
        self.biases: dict[Map, Tensor] = {}
        for over in maps_of(shape):
            weights = [parameters[name].detach() for name in over.weights]
            sizes = [len(weight) for weight in weights]
            biases = [_detached(parameters.get(name)) for name in over.biases]
            if len(weights) == 1:
                matrix, bias = weights[0], biases[0]
            else:
                matrix, bias = torch.cat(weights), side_by_side(biases, sizes)
                self._cut(over.weights, matrix, sizes)
                self._cut(over.biases, bias, sizes)
            self.matrices[over] = matrix
            if bias is not None:
                self.biases[over] = bias

    @classmethod
    def empty_like(cls, other: JoinedWeights, shape: Shape) -> JoinedWeights:
        """Return weights of the same shape whose values are still to be written."""
        return cls({name: torch.empty_like(tensor.detach()) for name, tensor in other.parameters.items()}, shape)

    def _cut(self, names: Sequence[str], joined: Tensor | None, sizes: list[int]) -> None:
        """Let the named parameters be slices of the joined tensor. What held them before is freed."""
        for name, part in zip(names, torch.split(joined, sizes) if joined is not None else (), strict=False):
            if name in self.parameters:
                self.parameters[name].data = part


def _detached(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach()


@dataclass(frozen=True)
class Term:
    """Low-rank differences of members in one map: a [M, rank, out], b [M, parts, rank, in]."""

    a: Tensor
    b: Tensor

    @property
    def rank(self) -> int:
        return self.a.shape[1]


class MemberTerms:
    """Buffers for the differences of up to `members` members from one model.

    `matrices` and `vectors` name the parameters that differ: by factors of this rank, and as a whole.
    """

    def __init__(
        self, base: JoinedWeights, shape: Shape, members: int, rank: int, matrices: set[str], vectors: set[str]
    ) -> None:
        self.members = members
        self._base, self._shape = base, shape
        self.maps: dict[Map, Term] = {}
        self.vectors: dict[str, Tensor] = {}
        self.biases: dict[Map, Tensor] = {}
        for over in maps_of(shape):
            matrix = base.matrices[over]
            if not matrices.isdisjoint(over.weights):
                a = matrix.new_zeros(members, rank, matrix.shape[0])
                self.maps[over] = Term(a, matrix.new_zeros(members, len(over.parts), rank, matrix.shape[1]))
            if not vectors.isdisjoint(over.biases):
                self.biases[over] = base.biases[over].repeat(members, 1)
        for name in vectors:
            if not name.endswith(".bias"):
                self.vectors[name] = base.parameters[name].repeat(members, 1)
        head, embed = self.maps.get(shape.head), Map((shape.embed.removesuffix(".weight"),))
        if head is not None and shape.embed == shape.head.weights[0]:
            self.maps[embed] = head
        elif shape.embed in matrices:
            table = base.parameters[shape.embed]
            a = table.new_zeros(members, rank, len(table))
            self.maps[embed] = Term(a, table.new_zeros(members, 1, rank, table.shape[1]))

    def load(self, factors: Mapping[str, Factors], vectors: Mapping[str, Tensor]) -> None:
        """Take the differences of some members. factors: name -> (A [m, out, r], B [m, in, r]); vectors: [m, n].

        Matrices without factors are the model's own.
        """
        for over, term in self.maps.items():
            start = 0
            for part, name in enumerate(over.weights):
                size = len(self._base.parameters[name])
                if name in factors:
                    a, b = factors[name]
                    term.a[: len(a), :, start : start + size] = a.transpose(1, 2)
                    term.b[: len(b), part] = b.transpose(1, 2)
                else:
                    term.a[:, :, start : start + size] = 0
                start += size
        for over, biases in self.biases.items():
            start = 0
            for name, weight in zip(over.biases, over.weights, strict=True):
                size = len(self._base.parameters[weight])
                if name in vectors:
                    biases[: len(vectors[name]), start : start + size] = vectors[name]
                start += size
        for name, of_members in self.vectors.items():
            of_members[: len(vectors[name])] = vectors[name]


def maps_of(shape: Shape) -> list[Map]:
    """Return the maps that a step multiplies by, each once."""
    return [*(over for layer in shape.layers for over in layer.maps), shape.head]
