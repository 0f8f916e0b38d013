"""Weights at fixed addresses, as captured steps read them: copies of a model's, and what members add to one."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.models.decoder.population import Factors
from workers.models.decoder.shape import Map, Shape


class JoinedWeights:
    """Copies of a model's weights, with the parts of each map side by side: map -> [copies, out, in].

    The given parameters become the first copy: what is written into them is what steps read. The values of the other
    copies are still to be written. `tensors`: name -> [copies, *shape], slices of the joined ones where a map has
    several parts. `biases`: map -> [copies, out], where it has any.
    """

    def __init__(self, parameters: Mapping[str, Tensor], shape: Shape, copies: int = 1) -> None:
        self.copies = copies
        self.tensors: dict[str, Tensor] = {}
        self.matrices: dict[Map, Tensor] = {}
        self.biases: dict[Map, Tensor] = {}
        for over in maps_of(shape):
            sizes = [len(parameters[name]) for name in over.weights]
            self.matrices[over] = self._take(parameters, over.weights, sizes)
            if not parameters.keys().isdisjoint(over.biases):
                self.biases[over] = self._take(parameters, over.biases, sizes)
        for name in parameters.keys() - self.tensors.keys():
            self._take(parameters, [name], [len(parameters[name])])

    def of_copy(self, number: int) -> dict[str, Tensor]:
        """Return the parameters of one copy, to be written."""
        return {name: tensor[number] for name, tensor in self.tensors.items()}

    def holds(self, parameters: Mapping[str, Tensor]) -> bool:
        """Return whether the first copy is these parameters themselves, at the addresses that they have now."""
        return self.tensors.keys() == parameters.keys() and all(
            parameter.data_ptr() == self.tensors[name][0].data_ptr() for name, parameter in parameters.items()
        )

    def first_copy(self) -> JoinedWeights:
        """Return the first copy alone, at the same addresses."""
        first = copy.copy(self)
        first.copies = 1
        first.tensors = {name: tensor[:1] for name, tensor in self.tensors.items()}
        first.matrices = {over: matrix[:1] for over, matrix in self.matrices.items()}
        first.biases = {over: bias[:1] for over, bias in self.biases.items()}
        return first

    def repeat_first(self, number: int) -> None:
        """Write the values of the first copy into another one."""
        for tensor in self.tensors.values():
            tensor[number].copy_(tensor[0])

    def stride(self, tensor: Tensor) -> int:
        """Return the elements from one copy to the next; 0 where all members read the only copy."""
        return tensor.stride(0) if self.copies > 1 else 0

    def _take(self, parameters: Mapping[str, Tensor], names: Sequence[str], sizes: Sequence[int]) -> Tensor:
        """Return the named tensors [copies, sum of sizes, …], zeros where there is none. What held them is freed."""
        tensors = {name: parameters[name].detach() for name in names if name in parameters}
        like = next(iter(tensors.values()))
        if len(names) == self.copies == 1:
            self.tensors[names[0]] = like.unsqueeze(0)
            return self.tensors[names[0]]
        joined = like.new_zeros(self.copies, sum(sizes), *like.shape[1:])
        for name, part in zip(names, torch.split(joined, list(sizes), dim=1), strict=True):
            if name in tensors:
                part[0].copy_(tensors[name])
                parameters[name].data = part[0]
                self.tensors[name] = part
        return joined


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
            matrix = base.matrices[over][0]
            if not matrices.isdisjoint(over.weights):
                a = matrix.new_zeros(members, rank, matrix.shape[0])
                self.maps[over] = Term(a, matrix.new_zeros(members, len(over.parts), rank, matrix.shape[1]))
            if not vectors.isdisjoint(over.biases):
                self.biases[over] = base.biases[over][0].repeat(members, 1)
        for name in vectors:
            if not name.endswith(".bias"):
                self.vectors[name] = base.tensors[name][0].repeat(members, 1)
        head, embed = self.maps.get(shape.head), Map((shape.embed.removesuffix(".weight"),))
        if head is not None and shape.embed == shape.head.weights[0]:
            self.maps[embed] = head
        elif shape.embed in matrices:
            table = base.tensors[shape.embed][0]
            a = table.new_zeros(members, rank, len(table))
            self.maps[embed] = Term(a, table.new_zeros(members, 1, rank, table.shape[1]))

    def load(self, factors: Mapping[str, Factors], vectors: Mapping[str, Tensor]) -> None:
        """Take the differences of some members. factors: name -> (A [m, out, r], B [m, in, r]); vectors: [m, n].

        Matrices without factors are the model's own.
        """
        for over, term in self.maps.items():
            start = 0
            for part, name in enumerate(over.weights):
                size = self._base.tensors[name].shape[1]
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
                size = self._base.tensors[weight].shape[1]
                if name in vectors:
                    biases[: len(vectors[name]), start : start + size] = vectors[name]
                start += size
        for name, of_members in self.vectors.items():
            of_members[: len(vectors[name])] = vectors[name]


def maps_of(shape: Shape) -> list[Map]:
    """Return the maps that a step multiplies by, each once."""
    return [*(over for layer in shape.layers for over in layer.maps), shape.head]
