"""Weights of a Hugging Face folder from its memory-mapped safetensors files.

Only the tensor, or the slice of one, that is read is in memory, so that checkpoints of any size can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from safetensors import safe_open
from torch import Tensor

from workers.checkpoint_folders import MASTER, TRAINER

TIED_HEAD = "lm_head.weight"
HELD_PARTS = 10
"""Weights of at most one such part of a GPU may be held there in float32 while they are written again and again."""


class WeightsDiffer(ValueError):
    """Two checkpoints do not have the same tensors, or a folder has none. The message names one that differs."""


class WeightFiles:
    """The weights of a folder. Raise WeightsDiffer if it has none.

    A run in 16 bits may save a float32 master next to the weights; it is read where there is one, because the weights
    in 16 bits lack small changes.
    """

    def __init__(self, folder: Path) -> None:
        masters = (folder / MASTER).parent, folder / TRAINER
        files = (sorted(place.glob("*.safetensors")) for place in (*masters, folder))
        paths = next(filter(None, files), [])
        if not paths:
            raise WeightsDiffer(f"{folder} has no safetensors file")
        self.folder = folder
        self._stack = ExitStack()
        self._files: dict[str, Any] = {}
        self._rounding: torch.dtype | None = None
        self._held: dict[str, Tensor] = {}
        for path in paths:
            opened: Any = self._stack.enter_context(safe_open(path, framework="pt"))
            self._files |= dict.fromkeys(opened.keys(), opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held = {}
        self._stack.close()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return name -> shape, in alphabetical order of the names."""
        return {name: tuple(self._files[name].get_slice(name).get_shape()) for name in sorted(self._files)}

    def tensor(self, name: str) -> Tensor:
        """Return a tensor in float32: a copy, or what `hold` holds, which nobody may change."""
        held = self._held.get(name)
        return self._read(self._files[name].get_tensor(name)) if held is None else held

    def hold(self, device: torch.device) -> None:
        """Copy all tensors to a GPU, to be read from there alone, if they take at most one of its HELD_PARTS.

        Otherwise, and on a CPU, tensors are read from the files as before.
        """
        if device.type == "cuda":
            size = 4 * sum(math.prod(shape) for shape in self.shapes.values())
            if HELD_PARTS * size <= torch.cuda.get_device_properties(device).total_memory:
                self._held = {name: self.tensor(name).to(device) for name in self._files}

    @property
    def is_held(self) -> bool:
        """Return whether a GPU holds all tensors."""
        return bool(self._held)

    def rows(self, name: str, first: int, last: int) -> Tensor:
        """Return a copy of tensor[first:last] in float32; nothing else of it is read."""
        return self._read(self._files[name].get_slice(name)[first:last])

    def round_to(self, dtype: torch.dtype) -> None:
        """Round every tensor that is read from now on to this type, before it is returned in float32."""
        self._rounding = dtype

    def _read(self, tensor: Tensor) -> Tensor:
        # A copy, because a tensor that is float32 already may be the mapped file itself, which all later reads share.
        return (tensor if self._rounding is None else tensor.to(self._rounding)).to(torch.float32, copy=True)


@contextmanager
def open_pair(base: Path, tuned: Path) -> Iterator[tuple[WeightFiles, WeightFiles, list[str]]]:
    """Yield two opened checkpoints of one architecture and the names of their tensors, in alphabetical order.

    A training in 16 bits starts from the base model rounded to them: the base is read so if `tuned` was saved in 16
    bits, because the rounding is no change that the training made. Raise WeightsDiffer if their tensors or shapes
    differ. Only a tied head may be in one of them alone, because some programs save it and others do not; it is left
    out.
    """
    with WeightFiles(base) as first, WeightFiles(tuned) as second:
        shapes, others = first.shapes, second.shapes
        if alone := sorted((shapes.keys() ^ others.keys()) - {TIED_HEAD}):
            raise WeightsDiffer(f"only one of {base} and {tuned} has the tensor {alone[0]}, and {len(alone)} in all")
        names = [name for name in shapes if name in others]
        for name in names:
            if shapes[name] != others[name]:
                raise WeightsDiffer(f"{name} has the shape {shapes[name]} in {base} and {others[name]} in {tuned}")
        if (dtype := _saved_dtype(tuned)).itemsize < 4:
            first.round_to(dtype)
        yield first, second, names


def _saved_dtype(folder: Path) -> torch.dtype:
    """Return the type of the weights themselves, next to which a float32 master may be saved."""
    with safe_open(next(iter(sorted(folder.glob("*.safetensors")))), framework="pt") as file:
        first = next(iter(file.keys()))
        dtype: torch.dtype = file.get_tensor(first).dtype
        return dtype
