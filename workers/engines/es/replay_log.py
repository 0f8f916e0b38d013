"""`replay.jsonl`: what each iteration added to the weights, as seeds and float32 coefficients, some 1 kB a line.

Together with the base model it rebuilds the weights after any step, bit for bit: the noise is a pure function of the
seeds, and θ ← θ + Σ w s ε is summed in a fixed order (see `noise.py`, `perturbation.py`). A line
{"step", "seeds", "weights"} stands for an iteration; a line {"start", …} for each start of the training, from whose
step the lines below it go on. Where a step stands twice, the later line is the one that counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.config import EsConfig, encode
from workers.engines.es.noise import VERSION
from workers.engines.es.state import State
from workers.models import Loaded
from workers.models.save import weights_sha256

FILE = "replay.jsonl"


class ReplayLog:
    """Appends to the log, one `write()` a line."""

    def __init__(self, directory: Path) -> None:
        self._fd = os.open(directory / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def start(self, state: State, loaded: Loaded, es: EsConfig, run_seed: int) -> None:
        """Says what the coming lines go on from, and everything that decides what their seeds mean."""
        self._append(
            {
                "start": state.step,
                "noise_version": VERSION,
                "base": {"path": str(loaded.path), "sha256": weights_sha256(loaded.path)},
                "dtype": str(loaded.dtype).removeprefix("torch."),
                "seed": run_seed,
                "noise": es.noise,
                "rank": es.rank,
                "lora": None if es.lora is None else encode(es.lora),
                "scales": {name: scale for name, scale in state.scales.items() if scale != 1.0},
            }
        )

    def iteration(self, step: int, directions: Mapping[int, float]) -> None:
        """The update that made step `step`; a dead iteration has no seeds."""
        self._append({"step": step, "seeds": list(directions), "weights": list(directions.values())})

    def close(self) -> None:
        """Flushes to disk and closes."""
        os.fsync(self._fd)
        os.close(self._fd)

    def _append(self, line: Mapping[str, Any]) -> None:
        # A process killed in the middle of a line leaves a torn one; the newline first keeps ours whole.
        os.write(self._fd, b"\n" + json.dumps(line, allow_nan=False).encode())

    def __enter__(self) -> ReplayLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
