"""Subjects of small weights made by hand, and the values of a probe's records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from workers.engines.es.lineage import NoiseKind, Origin
from workers.engines.es.replay_history import LoggedUpdate, Trail
from workers.engines.es.replay_log import Start, Update
from workers.probes.weights import Subject
from workers.records import Probe, ProbeValue

SHAPES = {"a": (12, 20), "b": (17,), "c": (6, 5)}
SCALES = {"a": 1.0, "b": 0.5, "c": 2.0}
"""Tensors of the trails that `trail_of` makes."""


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


def trail_of(noise: NoiseKind, coefficients: list[list[float]], decay: float = 0.0, first_seed: int = 1) -> Trail:
    """Return a trail with one update for each list of coefficients; seeds are counted up."""
    origin = Origin("", "float32", 0, None, SCALES)
    start = Start(0, "", "", origin, noise, {})
    seeds = iter(range(first_seed, 10**9))
    updates = [
        Update(step, "", "", tuple(next(seeds) for _ in c), tuple(c), 0, 0, 0.0, False, decay=decay)
        for step, c in enumerate(coefficients, 1)
    ]
    return Trail(origin, "", origin.lineage(), [LoggedUpdate(update, start) for update in updates])  # type: ignore[arg-type]
