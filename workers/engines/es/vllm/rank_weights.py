"""The weights of one rank: the float32 master of what it holds, and its casts into vLLM's parameters.

The working copy is always cast(master) or cast(master + σ s ε): no perturbation is ever subtracted. A tensor that this
rank holds in full is a master under its own name. Of a tensor that ranks share, each region is a master of its own;
its noise is that of the whole tensor, drawn in full and cut, so that the bits are those of a run on one GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from workers.engines.es.anchor import anchor_distance, pull_to_anchor
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.vllm.copy_plan import CopyPlan, Region
from workers.engines.es.vllm.tensor_files import TensorFiles, open_tensors
from workers.engines.es.weights_hash import hash_tensors


@dataclass(frozen=True)
class RankSetup:
    """Settings of a rank's weights. `counted`: the regions that this rank counts in norms, as `owners` returns them."""

    dtype: torch.dtype
    counted: Set[tuple[str, Region]]
    is_anchored: bool
    master_on_host: bool


class RankWeights:
    """Masters of one rank, and the parameters that they are written into."""

    def __init__(
        self, plan: CopyPlan, parameters: Mapping[str, Tensor], perturbation: Perturbation, setup: RankSetup
    ) -> None:
        self._plan, self._perturbation, self._setup = plan, perturbation, setup
        self._parameters = {name: parameter.detach() for name, parameter in parameters.items()}
        self._device = next(iter(self._parameters.values())).device
        self._whole = [name for name in plan.pieces if plan.is_whole(name)]
        self._shared = [name for name in plan.pieces if not plan.is_whole(name)]
        self._counted = self._counted_keys()
        self.master: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}
        for name, region in plan.zeros:
            region.of(self._parameters[name]).zero_()

    def load_base(self, files: TensorFiles) -> None:
        """Take the master from the base model, cast to the working type. It is θ₀ of anchored weight decay."""
        self.master = self._read(files, torch.float32)
        if self._setup.is_anchored:
            self.anchor = self._read(files, self._setup.dtype)

    def load_master(self, files: TensorFiles) -> None:
        """Take the master from a checkpoint. Raise NotResumable if it lacks a tensor."""
        for name in self._plan.pieces:
            tensor = files.read(name)
            for key, region in self._keys(name):
                self.master[key].copy_(region.of(tensor))

    def write_centre(self) -> None:
        """Write cast(master)."""
        for names in self._units():
            with self._on_device(names) as master:
                for name in names:
                    self._write_values(name, master)

    def write_member(self, seed: int) -> None:
        """Write cast(master + σ s ε) of this seed."""
        for names in self._units():
            with self._on_device(names) as master:
                direct = {name: view for name in names if (view := self._direct_view(name)) is not None}
                if direct:
                    self._perturbation.write_member(seed, {name: master[name] for name in direct}, direct)
                for name in names:
                    if name not in direct:
                        self._write_values(name, self._member(seed, name, master))

    def update(self, directions: Mapping[int, float], decay: float) -> tuple[float, float]:
        """Add Σ w s ε over directions seed -> w, subtract decay · (θ − θ₀), and write the centre.

        Return the norm of the step and the distance from θ₀, over the regions that this rank counts; NaN without θ₀.
        """
        norms, distances = [], []
        for names in self._units():
            with self._on_device(names, is_changing=True) as master:
                norms.append(self._step(directions, names, master))
                if self.anchor:
                    anchor = {key: self.anchor[key].to(self._device) for key in master}
                    if decay:
                        pull_to_anchor(master, anchor, decay)
                    if counted := {key: tensor for key, tensor in master.items() if key in self._counted}:
                        distances.append(anchor_distance(counted, anchor))
                for name in names:
                    self._write_values(name, master)
        return math.hypot(*norms), math.hypot(*distances) if self.anchor else math.nan

    def hash(self) -> str:
        """Return a hash of every bit of the masters and of vLLM's parameters."""
        return hash_tensors({**self.master, **{f"vllm.{name}": p for name, p in self._parameters.items()}})

    def save(self, file: Path, dtype: torch.dtype) -> None:
        """Write the masters, cast to a type, under their keys: canonical names if this rank holds all."""
        # To the host one by one: the GPU may have no memory for a second copy.
        tensors = {key: tensor.to(dtype).cpu() for key, tensor in self.master.items()}
        save_file(tensors, file, metadata={"format": "pt"})

    def _read(self, files: TensorFiles, dtype: torch.dtype) -> dict[str, Tensor]:
        """Return key -> values of the base model, rounded to the working type, in `dtype` where masters are."""
        tensors = {}
        for name in self._plan.pieces:
            tensor = files.read(name)
            for key, region in self._keys(name):
                part = self._empty(region.size, dtype)
                tensors[key] = part.copy_(region.of(tensor).to(self._setup.dtype))
        return tensors

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        if self._setup.master_on_host:
            return torch.empty(shape, dtype=dtype, pin_memory=self._device.type == "cuda")
        return torch.empty(shape, dtype=dtype, device=self._device)

    def _keys(self, name: str) -> Iterator[tuple[str, Region]]:
        """Yield the masters of a canonical tensor on this rank, with their regions of it."""
        if self._plan.is_whole(name):
            yield name, Region.whole(self._plan.shapes[name])
        else:
            for number, piece in enumerate(self._plan.pieces[name]):
                yield part_key(name, number), piece.source

    def _counted_keys(self) -> set[str]:
        """Return the keys of the masters that this rank counts."""
        counted = self._setup.counted
        keys = {
            part_key(name, number)
            for name in self._shared
            for number, piece in enumerate(self._plan.pieces[name])
            if (name, piece.source) in counted
        }
        return keys | {
            name for name in self._whole if all((name, piece.source) in counted for piece in self._plan.pieces[name])
        }

    def _units(self) -> list[list[str]]:
        """Return the names that are worked on together: as many as possible, but one of a shared tensor or the host."""
        if self._setup.master_on_host:
            return [[name] for name in self._plan.pieces]
        return [self._whole, *([name] for name in self._shared)]

    @contextmanager
    def _on_device(self, names: Sequence[str], *, is_changing: bool = False) -> Iterator[dict[str, Tensor]]:
        """Provide the masters of these tensors on the parameters' device; changed ones go back to the host."""
        keys = [key for name in names for key, _ in self._keys(name)]
        master = {key: self.master[key].to(self._device, non_blocking=True) for key in keys}
        yield master
        if is_changing:
            for key, tensor in master.items():
                if tensor is not self.master[key]:
                    self.master[key].copy_(tensor)

    def _direct_view(self, name: str) -> Tensor | None:
        """Return where a whole tensor lies in one parameter, in its own shape and type; None if it does not."""
        pieces = self._plan.pieces[name]
        if name in self._shared or len(pieces) != 1 or pieces[0].target.size != self._plan.shapes[name]:
            return None
        view = pieces[0].target.of(self._parameters[pieces[0].parameter])
        return view if view.is_contiguous() and view.dtype == self._setup.dtype else None

    def _write_values(self, name: str, values: Mapping[str, Tensor]) -> None:
        """Write a tensor's values, key -> float32, where they lie in the parameters, cast to the working type."""
        for number, piece in enumerate(self._plan.pieces[name]):
            value = piece.source.of(values[name]) if name in values else values[part_key(name, number)]
            target = piece.target.of(self._parameters[piece.parameter])
            target.copy_(value if target.dtype == self._setup.dtype else value.to(self._setup.dtype))

    def _member(self, seed: int, name: str, master: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the member's values of one tensor, key -> float32."""
        if name in master:
            return {name: self._perturbation.member_tensors([seed], name, master[name])[0]}
        noise = self._no_change(name)
        self._perturbation.write_member(seed, {name: noise}, {name: noise})
        return {key: region.of(noise).add(master[key]) for key, region in self._keys(name)}

    def _step(self, directions: Mapping[int, float], names: Sequence[str], master: Mapping[str, Tensor]) -> float:
        """Add the step to the masters, in place. Return the norm of what this rank counts."""
        norms = []
        for is_counted in (True, False):
            whole = {name: master[name] for name in names if name in master and (name in self._counted) == is_counted}
            if whole:
                norms.append((self._perturbation.step(directions, whole), is_counted))
        for name in names if directions else ():
            if name not in master:
                delta = self._no_change(name)
                self._perturbation.step(directions, {name: delta})
                for key, region in self._keys(name):
                    part = region.of(delta)
                    master[key].add_(part)
                    norms.append((float(part.double().square().sum().sqrt()), key in self._counted))
        return math.hypot(*(norm for norm, is_counted in norms if is_counted))

    def _no_change(self, name: str) -> Tensor:
        """Return −0 in the shape of the whole tensor: what is added to it keeps its bits, which 0 would not keep."""
        return torch.full(self._plan.shapes[name], -0.0, device=self._device)


def part_key(name: str, number: int) -> str:
    """Return the name of the master of one region of a tensor."""
    return f"{name}@{number}"


def join_ranks(plans: Sequence[CopyPlan], files: Sequence[Path], dtype: torch.dtype, file: Path) -> None:
    """Write the canonical tensors that the ranks' files hold together into one file."""
    tensors = {name: torch.empty(shape, dtype=dtype) for name, shape in plans[0].shapes.items()}
    for plan, rank_file in zip(plans, files, strict=True):
        with open_tensors([rank_file]) as rank:
            for name, pieces in plan.pieces.items():
                if plan.is_whole(name):
                    tensors[name].copy_(rank.read(name))
                else:
                    for number, piece in enumerate(pieces):
                        piece.source.of(tensors[name]).copy_(rank.read(part_key(name, number)))
    save_file(tensors, file, metadata={"format": "pt"})
