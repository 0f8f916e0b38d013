"""`replay.jsonl`: what each iteration added to the weights, as seeds and float32 coefficients, some 1 kB per line.

Together with the base model it rebuilds the weights after any step, bit for bit: the noise is a pure function of the
seeds, and θ ← θ + Σ w s ε is summed in a fixed order (see `noise.py`, `perturbation.py`); so is the decay towards θ₀
that may follow (`anchor.py`), of which a line holds the coefficient. A `Start` is written at each start of the training
and defines the meaning of the lines below it; an `Update` at each iteration. Both name lineages (`lineage.py`), so that
lines of several starts and attempts fit together in one way only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from workers.engines.es.lineage import NoiseKind, Origin, next_lineage
from workers.engines.es.state import State
from workers.tasks.safety import Multiplier

FILE = "replay.jsonl"
VERSION = 2
"""Increased whenever the same lines would mean other weights, or have another form."""
LIBRARIES = ("torch", "transformers", "safetensors")


@dataclass(frozen=True)
class Start:
    """The training starts at step `start` with the weights of `lineage`; `base_path` is the folder of its base model
    then."""

    start: int
    lineage: str
    base_path: str
    origin: Origin
    noise: NoiseKind
    written_with: Mapping[str, str]
    rows: int = 0
    """Rows of a batch, the same in every attempt of the run; 0 in logs that were written before it was stored."""
    log_version: int = VERSION


@dataclass(frozen=True)
class Update:
    """The iteration that made step `step` out of `parent`: Σ over seeds and weights; a dead one may have no seeds.

    tokens, samples and gpu_seconds are those of training so far; multiplier is the λ that the next iteration uses, if
    the task has a cost: a run that resumes from rebuilt weights needs it. decay is the float32 number α λ of anchored
    weight decay; lines without one have no such key.
    """

    step: int
    parent: str
    lineage: str
    seeds: tuple[int, ...]
    weights: tuple[float, ...]
    tokens: int
    samples: int
    gpu_seconds: float
    dead: bool
    multiplier: Multiplier | None = None
    decay: float = 0.0

    @property
    def directions(self) -> dict[int, float]:
        """Return seed -> weight, in the order in which they are summed."""
        return dict(zip(self.seeds, self.weights, strict=True))


class ReplayLog:
    """Writer of the log in an attempt's directory. Methods raise OSError if the disk is full."""

    def __init__(self, directory: Path, noise: NoiseKind) -> None:
        self._noise = noise
        self._fd = os.open(directory / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def start(self, state: State, base_path: Path) -> None:
        """Write the weights that the coming lines continue from, and everything that decides what their seeds mean."""
        written_with = {name: version(name) for name in LIBRARIES}
        self._append(
            Start(state.step, state.lineage, str(base_path), state.origin, self._noise, written_with, state.rows)
        )

    def update(self, state: State, directions: Mapping[int, float], decay: float = 0.0) -> str:
        """Write the update that led to the state, whose lineage is still the old one. Return the new lineage."""
        lineage = next_lineage(state.lineage, state.step, self._noise, directions, decay)
        seeds, weights = tuple(directions), tuple(directions.values())
        counts = state.tokens, state.samples, state.gpu_seconds, state.dead, state.multiplier
        self._append(Update(state.step, state.lineage, lineage, seeds, weights, *counts, decay))
        return lineage

    def flush(self) -> None:
        """Force the log to disk, before a checkpoint that it must not fall behind."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Flush to disk and close."""
        self.flush()
        os.close(self._fd)

    def _append(self, line: Start | Update) -> None:
        data = asdict(line)
        if not data.get("decay"):
            data.pop("decay", None)
        # A process killed in the middle of a line leaves a torn one; the newline first keeps the new line whole.
        rest = b"\n" + json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def __enter__(self) -> ReplayLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
