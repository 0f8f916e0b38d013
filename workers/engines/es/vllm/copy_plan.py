"""The plan of where canonical tensors lie in vLLM's parameters, and the checks that it is complete.

vLLM fuses projections, pads vocabularies and cuts tensors across GPUs. The plan holds each copy that the model's own
loader makes, so that members can be written to the same places without a table for each architecture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.config import ConfigError, Problem

Shapes = Mapping[str, tuple[int, ...]]


class UntrainableModel(ConfigError):
    """vLLM loads this model in a way that members cannot be written by. The message names the tensor."""

    def __init__(self, name: str, reason: str) -> None:
        message = f"cannot be vllm: this model cannot be trained with vLLM, since {name} {reason}"
        super().__init__([Problem("es.backend", f"{message}; set native or transformers")])


@dataclass(frozen=True)
class Region:
    """Some elements of a tensor: a strided view, relative to the tensor's first element."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def within(cls, view: Tensor, whole: Tensor) -> Region:
        """Return the region of a view into a tensor's memory."""
        return cls(tuple(view.shape), view.stride(), int(view.storage_offset() - whole.storage_offset()))

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Region:
        """Return the region that is a whole tensor of this shape."""
        return cls(shape, tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))), 0)

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return math.prod(self.size)

    def of(self, tensor: Tensor) -> Tensor:
        """Return the region as a view of the tensor."""
        return tensor.as_strided(self.size, self.stride, tensor.storage_offset() + self.offset)

    def is_dense(self) -> bool:
        """Return whether the elements follow each other in memory, in their order."""
        expected = 1
        for size, stride in zip(self.size[::-1], self.stride[::-1], strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def is_repeating(self) -> bool:
        """Return whether the same element is in it more than once, as after `expand`."""
        return any(size > 1 and stride == 0 for size, stride in zip(self.size, self.stride, strict=True))


@dataclass(frozen=True)
class Piece:
    """A copy: a region of a canonical tensor, and where it lies in a parameter."""

    source: Region
    parameter: str
    target: Region


@dataclass(frozen=True)
class CopyPlan:
    """All copies of one rank. `shapes`: of the canonical tensors. `zeros`: padding, as (parameter, region)."""

    shapes: Shapes
    pieces: Mapping[str, tuple[Piece, ...]]
    zeros: tuple[tuple[str, Region], ...]

    def is_whole(self, name: str) -> bool:
        """Return whether this rank holds the whole canonical tensor."""
        return sum(piece.source.count for piece in self.pieces[name]) == math.prod(self.shapes[name])


def check_parameters(plan: CopyPlan, sizes: Mapping[str, int]) -> None:
    """Raise UntrainableModel unless every element of each parameter is written once or is padding.

    `sizes`: parameter -> number of elements, of parameters without gaps in their memory.
    """
    targets: dict[str, list[Region]] = {name: [] for name in sizes}
    for pieces in plan.pieces.values():
        for piece in pieces:
            targets[piece.parameter].append(piece.target)
    padding = {name: [region for owner, region in plan.zeros if owner == name] for name in sizes}
    for name, size in sizes.items():
        counts = _counts(targets[name], size)
        if counts is None:
            continue
        if bool((counts > 1).any()):
            raise UntrainableModel(f"vLLM's parameter {name}", "is written by more than one tensor")
        for region in padding[name]:
            region.of(counts).fill_(1)
        if not bool((counts == 1).all()):
            raise UntrainableModel(f"vLLM's parameter {name}", "is not filled by the tensors of the model's files")


def check_ranks(plans: Sequence[CopyPlan]) -> None:
    """Raise UntrainableModel unless the ranks together hold every element of each canonical tensor.

    Ranks may hold the same region, as small heads are replicated; regions that overlap in part are refused.
    """
    for name, shape in plans[0].shapes.items():
        for plan in plans:
            if len({piece.source for piece in plan.pieces[name]}) < len(plan.pieces[name]):
                raise UntrainableModel(f"the tensor {name}", "is stored twice by vLLM")
        regions = {piece.source: None for plan in plans for piece in plan.pieces[name]}
        counts = _counts(list(regions), math.prod(shape))
        if counts is not None and not bool((counts == 1).all()):
            raise UntrainableModel(f"the tensor {name}", "is not stored by vLLM once and in full")


def owners(plans: Sequence[CopyPlan]) -> list[frozenset[tuple[str, Region]]]:
    """Return for each rank the regions that it counts: a replicated one belongs to the first rank that holds it."""
    counted: set[tuple[str, Region]] = set()
    of_ranks = []
    for plan in plans:
        regions = {(name, piece.source) for name, pieces in plan.pieces.items() for piece in pieces}
        of_ranks.append(frozenset(regions - counted))
        counted |= regions
    return of_ranks


def _counts(regions: Iterable[Region], size: int) -> Tensor | None:
    """Return how many regions hold each element, uint8 [size]; None if they are dense and tile the tensor exactly."""
    dense: list[Region] = []
    others: list[Region] = []
    for region in regions:
        (dense if region.is_dense() else others).append(region)
    if not others and _is_tiling(dense, size):
        return None
    counts = torch.zeros(size, dtype=torch.uint8)
    for region in (*dense, *others):
        region.of(counts).add_(1)
    return counts


def _is_tiling(regions: Iterable[Region], size: int) -> bool:
    end = 0
    for region in sorted(regions, key=lambda region: region.offset):
        if region.offset != end:
            return False
        end += region.count
    return end == size
