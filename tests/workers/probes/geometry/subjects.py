"""Subjects of small weights made by hand, and the values of a probe's records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue


def write(folder: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Save tensors as the weights of a new folder."""
    folder.mkdir(parents=True)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return folder


def subject_of(
    root: Path, base: Mapping[str, Tensor], deltas: Mapping[str, Tensor], name: str = "run", **more: Any
) -> Subject:
    """Return a subject after step 4 whose weights are base + deltas; tensors without a delta are unchanged."""
    tuned = {key: tensor + deltas[key] if key in deltas else tensor for key, tensor in base.items()}
    folder = root / name
    return Subject(name, 4, write(folder / "tuned", tuned), write(folder / "base", base), **more)


def values_of(probes: Iterable[Probe]) -> dict[str, dict[str, ProbeValue]]:
    """Return measure -> tensor -> value, for measures with one value a tensor."""
    return {probe.measure: {value.tensor: value for value in probe.values} for probe in probes}
