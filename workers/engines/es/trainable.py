"""The trained parameters of a run: a float32 master, and its casts into the model that answers.

WholeModel trains every parameter; Adapter trains the A and B of a LoRA (arXiv 2106.09685) next to frozen weights. In
both cases the working copy is always written from the master, cast(master): no perturbation is ever subtracted again,
so that nothing drifts at any precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from workers.checkpoint_folders import MASTER
from workers.config import LoraConfig
from workers.engines.es.lora import find_targets, first_tensors, noise_unit, save_peft, tensor_names
from workers.engines.es.noise import outer_sum
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.not_resumable import NotResumable
from workers.models import Loaded
from workers.models.decoder import LowRank, Shape, Stacked, Weights
from workers.models.decoder.population import Factors

Values = Callable[[str], Tensor]
"""A parameter's name -> its value in float32."""


@dataclass(frozen=True)
class Differences:
    """Differences of members from `Trained.base`. `factors`: name -> (A [members, out, r], B [members, in, r]).

    `vectors` replace those of the base: name -> [members, n].
    """

    factors: dict[str, Factors]
    vectors: dict[str, Tensor]


class TrainableWeights(Protocol):
    """The parameters that are trained. `master`: canonical name -> float32; only an update changes it.

    `base`: the parameters that members with low-rank differences add them to. `anchor`: copies of the master's values
    before any update, in a precision that holds them exactly; empty in runs without anchored weight decay.
    """

    model: Any
    master: dict[str, Tensor]
    base: dict[str, Tensor]
    anchor: dict[str, Tensor]

    def write(self, value: Values) -> None:
        """Write the value of each name (the master's, or a member's) into the model, cast to its precision."""

    def write_member(self, seed: int, perturbation: Perturbation) -> None:
        """Write the member of this seed into the model, cast to its precision."""

    def members(self, seeds: Sequence[int], perturbation: Perturbation, shape: Shape) -> Weights:
        """Return the members of these seeds, to answer in one batch."""

    def differences(self, seeds: Sequence[int], perturbation: Perturbation) -> Differences:
        """Return the low-rank differences of the members of these seeds from the base."""

    def centre_difference(self) -> Differences:
        """Return the difference of the centre from the base, as that of one member."""

    def bytes_per_member(self, perturbation: Perturbation, shape: Shape) -> int:
        """Return the bytes of memory that one more member in the batch takes at most."""

    def noise_scales(self, relative: bool) -> dict[str, float]:
        """Return for each tensor of the master the scale s of its noise, at the start of the run. If `relative`, s is
        the tensor's root mean square (es.layer_scale)."""

    def save(self, folder: Path) -> None:
        """Add what the checkpoint's own weights do not hold to a saved Hugging Face folder."""

    def load(self, folder: Path) -> None:
        """Read the master from a checkpoint and write it into the model. Raise NotResumable."""


def make_trainable(
    loaded: Loaded, lora: LoraConfig | None, run_seed: int, *, anchored: bool = False
) -> TrainableWeights:
    """Return the trainable parameters of a run with this config, as they are before any update.

    `anchored` copies them to `anchor`, for a run with anchored weight decay.
    """
    trained: TrainableWeights = WholeModel(loaded) if lora is None else Adapter(loaded, lora, run_seed)
    if anchored:
        # The model's own 16 bits hold the start of its master exactly, in half the memory.
        start = trained.base if lora is None else trained.master
        trained.anchor = {name: tensor.detach().clone() for name, tensor in start.items()}
    return trained


class WholeModel:
    """Every parameter of the model; a tied one once."""

    MASTER = MASTER
    """A folder of its own, apart from the weights, so that the checkpoint's weights match its other files."""

    def __init__(self, loaded: Loaded) -> None:
        self.model = loaded.model
        self._parameters = self.base = dict(loaded.model.named_parameters())
        self._exact = all(p.dtype == torch.float32 for p in self._parameters.values())
        self.master = {name: p.detach().to(torch.float32, copy=True) for name, p in self._parameters.items()}
        self.anchor: dict[str, Tensor] = {}

    def write(self, value: Values) -> None:
        for name, parameter in self._parameters.items():
            parameter.copy_(value(name))

    def write_member(self, seed: int, perturbation: Perturbation) -> None:
        perturbation.write_member(seed, self.master, self._parameters)

    def members(self, seeds: Sequence[int], perturbation: Perturbation, shape: Shape) -> Weights:
        if perturbation.noise.is_factored:
            member_differences = self.differences(seeds, perturbation)
            return LowRank(self.base, shape, member_differences.factors, member_differences.vectors)
        dtypes = {name: parameter.dtype for name, parameter in self._parameters.items()}
        return Stacked(perturbation.members(seeds, self.master, dtypes), shape)

    def differences(self, seeds: Sequence[int], perturbation: Perturbation) -> Differences:
        dtypes = {name: parameter.dtype for name, parameter in self._parameters.items()}
        matrices = {n: m for n, m in self.master.items() if perturbation.noise.is_low_rank(m)}
        pairs = perturbation.factors(seeds, matrices).items()
        factors = {n: (a.to(dtypes[n]), b.to(dtypes[n])) for n, (a, b) in pairs}
        others = {n: m for n, m in self.master.items() if n not in matrices}
        return Differences(factors, perturbation.members(seeds, others, dtypes))

    def centre_difference(self) -> Differences:
        return Differences({}, {name: p.detach()[None] for name, p in self.base.items() if p.ndim == 1})

    def bytes_per_member(self, perturbation: Perturbation, shape: Shape) -> int:
        if perturbation.noise.is_factored:
            return 4 * perturbation.noise.rank * sum(sum(m.shape) for m in self.master.values())
        # The float32 noise of one tensor while it is being made, or the parts of one matrix while they are joined.
        sizes: dict[str, int] = {name: p.numel() * p.element_size() for name, p in self._parameters.items()}
        noise: int = 8 * max(m.numel() for m in self.master.values())
        return max(sum(sizes.values()) + noise, Stacked.bytes_of(sizes, shape))

    def noise_scales(self, relative: bool) -> dict[str, float]:
        return scales_of(self.master, relative)

    def save(self, folder: Path) -> None:
        if not self._exact:
            (folder / self.MASTER).parent.mkdir()
            save_file(self.master, folder / self.MASTER)

    def load(self, folder: Path) -> None:
        files = sorted(folder.glob("*.safetensors")) if self._exact else [folder / self.MASTER]
        _fill(self.master, files, folder)
        self.write(self.master.__getitem__)


class Adapter:
    """A and B of a LoRA for each target matrix: W + (alpha / rank) · B A.

    By default A starts as N(0, 1 / in) and B as zero; with a random start both as N(0, 1) · start_scale · s, where s is
    the unit of the target's noise: 1, or 10 % of the mean |W| with `noise_scale` weights.
    """

    FOLDER = "adapter"

    def __init__(self, loaded: Loaded, lora: LoraConfig, run_seed: int) -> None:
        self.model = loaded.model
        self._lora, self._base_path = lora, str(loaded.path)
        self._scale = lora.alpha / lora.rank
        self._parameters = dict(loaded.model.named_parameters())
        self._targets = find_targets(loaded.model, lora)
        self._base = {t: self._parameters[f"{t}.weight"].detach().clone() for t in self._targets}
        self.base = self._parameters | {f"{target}.weight": weight for target, weight in self._base.items()}
        self._units = {target: noise_unit(lora, weight) for target, weight in self._base.items()}
        self.master: dict[str, Tensor] = {}
        for target, weight in self._base.items():
            self.master |= first_tensors(lora, run_seed, target, weight, self._units[target])
        self.anchor: dict[str, Tensor] = {}
        if lora.start != "zero_b":
            self.write(self.master.__getitem__)

    def write(self, value: Values) -> None:
        for target, weight in self._base.items():
            a, b = (value(name) for name in tensor_names(target))
            self._parameters[f"{target}.weight"].copy_(weight.float() + outer_sum(b * self._scale, a.T))

    def write_member(self, seed: int, perturbation: Perturbation) -> None:
        self.write(perturbation.member(seed, self.master))

    def members(self, seeds: Sequence[int], perturbation: Perturbation, shape: Shape) -> Weights:
        return LowRank(self.base, shape, self.differences(seeds, perturbation).factors, {})

    def differences(self, seeds: Sequence[int], perturbation: Perturbation) -> Differences:
        return self._differences(lambda name: perturbation.member_tensors(seeds, name, self.master[name]))

    def centre_difference(self) -> Differences:
        return self._differences(lambda name: self.master[name][None])

    def _differences(self, members: Values) -> Differences:
        factors = {}
        for target, weight in self._base.items():
            a, b = (members(name).to(weight.dtype) for name in tensor_names(target))
            factors[f"{target}.weight"] = b * self._scale, a.transpose(1, 2)
        return Differences(factors, {})

    def bytes_per_member(self, perturbation: Perturbation, shape: Shape) -> int:
        return sum(4 * m.numel() for m in self.master.values())

    def noise_scales(self, relative: bool) -> dict[str, float]:
        if self._lora.noise_scale == "one":
            return scales_of(self.master, relative)
        return {name: unit for target, unit in self._units.items() for name in tensor_names(target)}

    def save(self, folder: Path) -> None:
        """Save the adapter alone, as PEFT reads it, in a subfolder; the folder's own weights are merged."""
        self.save_adapter(folder / self.FOLDER, self.master)

    def save_adapter(self, folder: Path, tensors: Mapping[str, Tensor]) -> None:
        """Write tensors with the names and shapes of the master into a new folder, as PEFT reads them. Raise
        OSError."""
        save_peft(folder, tensors, self._lora, self._base_path)

    def load(self, folder: Path) -> None:
        _fill(self.master, [folder / self.FOLDER / "adapter_model.safetensors"], folder)
        self.write(self.master.__getitem__)


def _fill(master: Mapping[str, Tensor], files: Sequence[Path], folder: Path) -> None:
    """Read every tensor of the master from the files; other tensors in them are ignored."""
    saved: dict[str, Tensor] = {}
    for file in files:
        if not file.is_file():
            raise NotResumable(f"{folder} has no {file.name}, so it was not saved by an ES run of this kind")
        saved.update(load_file(file))
    if missing := sorted(master.keys() - saved.keys()):
        raise NotResumable(f"{folder} lacks {len(missing)} tensors of this run, {missing[0]} among them")
    for name, tensor in master.items():
        tensor.copy_(saved[name])
