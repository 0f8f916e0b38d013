"""Lineages: weights identified by a chain of hashes, from an origin (base model and trained parameters) over all
updates.

Equal lineages mean equal float32 masters, to the bit: all that decides them is hashed. A line of the replay log names
the lineage before and the one after its update; a checkpoint names its own. So it is known, and not guessed from step
numbers, which of several attempts' lines led to which weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workers.config.es_noise import NoiseName
from workers.engines.es.noise import VERSION, Noise, make_noise

DIGITS = 32


@dataclass(frozen=True)
class Origin:
    """Start of a run: the base model by the sha256 of its weights, the precision it was read in, the run's seed (which
    a LoRA starts from), the LoRA's settings or None, and the scales of the tensors' noise."""

    base_sha256: str
    dtype: str
    seed: int
    lora: dict[str, Any] | None
    scales: dict[str, float] = field(default_factory=dict)

    def lineage(self) -> str:
        """Return the first lineage of the chain."""
        return _digest(asdict(self))


@dataclass(frozen=True)
class NoiseKind:
    """Settings that turn seeds into noise."""

    kind: NoiseName
    rank: int
    version: int = VERSION

    def noise(self) -> Noise:
        """Return the noise itself."""
        return make_noise(self.kind, self.rank)


def next_lineage(lineage: str, step: int, noise: NoiseKind, directions: Mapping[int, float], decay: float = 0.0) -> str:
    """Return the lineage after an update θ ← θ + Σ w s ε, over directions seed -> w in their order, and then
    θ ← θ − decay · (θ − θ₀), which is hashed only if there is a decay."""
    content = [lineage, step, asdict(noise), list(directions), list(directions.values())]
    return _digest([*content, decay] if decay else content)


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
