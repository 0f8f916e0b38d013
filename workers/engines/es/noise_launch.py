"""Arguments of the kernels of ES noise: the sizes of parts, and tables with the addresses of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from workers.engines.es.noise import name_words
from workers.engines.es.philox import signed
from workers.engines.es.quantiles import SIZE, normal_quantiles

ALIGNMENT = 16
"""Bytes of the widest access of a thread, and columns of which a matrix's width is a multiple for such accesses."""


@dataclass(frozen=True)
class PartSizes:
    """Sizes of the parts that tensors are cut into. All give the same bits; the defaults were fastest on an H200."""

    blocks: int = 128
    """Philox blocks, of 16 numbers each, in a part of full noise."""
    tile: tuple[int, int] = (8, 256)
    """Height and width of a part of a low-rank matrix."""

    def full(self, device: torch.device) -> dict[str, Any]:
        """Return the arguments that all kernels of full noise have."""
        upper_half = normal_quantiles(device)[SIZE // 2 :]
        return {"quantiles": upper_half, "blocks": self.blocks, "num_warps": 4, "enable_fp_fusion": False}

    def low_rank(self) -> dict[str, Any]:
        """Return the arguments that all kernels of low-rank noise have."""
        high, wide = self.tile
        return {"high": high, "wide": wide, "num_warps": 2, "enable_fp_fusion": False}


@dataclass(frozen=True)
class Target:
    """Tensors that full noise is written to: `factor` · ε of `stream`."""

    stream: str
    factor: float
    out: Tensor
    """[members, *shape], of floats; for an update [1, *shape], the master itself."""
    master: Tensor | None
    """The float32 tensor that the noise is added to; None for the noise alone."""
    is_signed: bool = True
    """True if the sign of a seed multiplies its noise."""

    @property
    def size(self) -> int:
        """Return the number of elements of one member."""
        return self.out.numel() // self.out.shape[0]

    def row(self, first_part: int) -> tuple[int, ...]:
        """Return this tensor's row of the kernels' table."""
        low, high = name_words(self.stream)
        addresses = address(self.out), address(self.master)
        return (*addresses, first_part, self.size, signed(low), signed(high), int(self.is_signed))

    def is_aligned(self) -> bool:
        """Return whether the kernel may access it in steps of 16 bytes."""
        return are_aligned(self.out, self.master)


@dataclass(frozen=True)
class Matrix:
    """Matrices [out, in] that low-rank noise is written to: `factor` · A Bᵀ."""

    factor: float
    out: Tensor
    """[members, out, in], of floats; for an update [1, out, in], the master itself."""
    master: Tensor
    """[out, in], float32."""
    a: Tensor
    """[members, out, rank], float32; so is b [members, in, rank]."""
    b: Tensor

    def row(self, first_part: int) -> tuple[int, ...]:
        """Return this matrix's row of the kernels' table."""
        addresses = address(self.out), address(self.master)
        return (*addresses, first_part, *self.master.shape, address(self.a), address(self.b))

    def is_aligned(self) -> bool:
        """Return whether the kernel may access it in steps of 16 bytes."""
        return self.master.shape[1] % ALIGNMENT == 0 and are_aligned(self.out, self.master)


def tables(targets: Sequence[Target | Matrix], counts: Sequence[int], device: torch.device) -> dict[str, Any]:
    """Return the kernels' `rows`, `scales`, `owner` and `aligned`, for tensors cut into `counts` parts."""
    first_parts = accumulate(counts[:-1], initial=0)
    rows = [target.row(first) for target, first in zip(targets, first_parts, strict=True)]
    owners = torch.arange(len(rows), dtype=torch.int32, device=device)
    return {
        "rows": torch.tensor(rows, dtype=torch.int64, device=device),
        "scales": torch.tensor([target.factor for target in targets], dtype=torch.float32, device=device),
        "owner": owners.repeat_interleave(torch.tensor(counts, device=device), output_size=sum(counts)),
        "aligned": all(target.is_aligned() for target in targets),
    }


def parts_of(target: Target | Matrix, sizes: PartSizes) -> int:
    """Return into how many parts a tensor is cut."""
    if isinstance(target, Target):
        return -(-target.size // (16 * sizes.blocks))
    (height, width), (high, wide) = target.master.shape, sizes.tile
    return (-(-height // high)) * (-(-width // wide))


def address(tensor: Tensor | None) -> int:
    """Return the address of a contiguous tensor; 0 for None. Raise ValueError if it is not contiguous."""
    if tensor is None:
        return 0
    if not tensor.is_contiguous():
        shape = tuple(tensor.shape)
        raise ValueError(f"a tensor of shape {shape} must be contiguous, but has strides {tensor.stride()}")
    return tensor.data_ptr()


def are_aligned(out: Tensor, master: Tensor | None) -> bool:
    """Return whether every member of `out`, and the master, starts at a multiple of 16 bytes."""
    distance = out.stride(0) * out.element_size() if out.shape[0] > 1 else 0
    return (out.data_ptr() | (0 if master is None else master.data_ptr()) | distance) % ALIGNMENT == 0


def unsigned(seeds: Sequence[int], device: torch.device) -> Tensor:
    """Return int64 [seeds], without sign."""
    return torch.tensor([abs(seed) for seed in seeds], dtype=torch.int64, device=device)


def on(device: torch.device) -> AbstractContextManager[Any]:
    """Make a GPU the one that Triton launches on."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
