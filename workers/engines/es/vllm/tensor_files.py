"""The tensors of a folder's safetensors files, read one at a time by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from workers.engines.not_resumable import NotResumable

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class TensorFiles:
    """Open files, and which of them holds each tensor."""

    def __init__(self, files: Sequence[Any]) -> None:
        self._files = {name: file for file in files for name in file.keys()}  # noqa: SIM118

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor in the files."""
        return {name: tuple(file.get_slice(name).get_shape()) for name, file in self._files.items()}

    def read(self, name: str) -> Tensor:
        """Return a tensor, on the CPU. Raise NotResumable if no file holds it."""
        if name not in self._files:
            raise NotResumable(f"the checkpoint lacks the tensor {name} of this run")
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor


@contextmanager
def open_tensors(files: Sequence[Path]) -> Iterator[TensorFiles]:
    """Open the files for the time of the block. Raise NotResumable if one is missing."""
    with ExitStack() as stack:
        opened = []
        for file in files:
            if not file.is_file():
                raise NotResumable(f"{file.parent} has no {file.name}, so it was not saved by an ES run of this kind")
            opened.append(stack.enter_context(safe_open(file, framework="pt", device="cpu")))
        yield TensorFiles(opened)


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a model's weights, as transformers chooses them; a repository may hold others beside them."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if (folder / INDEX).is_file():
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        return [folder / name for name in sorted(set(index["weight_map"].values()))]
    return sorted(folder.glob("*.safetensors"))
