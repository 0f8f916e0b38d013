"""The setup of an engine, which it gets from the training process as it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group.wire import pack_json
from workers.engines.es.vllm.setup import VllmSetup


@dataclass(frozen=True)
class EngineSetup:
    """Setup of an engine, in addition to the base model and the log: the run's seed with its sections model and es, the
    plan of the batches, the scales of the noise, the base model's lineage, the file of the log, and torch's threads;
    for engines of vLLM, their own settings."""

    config: Mapping[str, Any]
    plan: BatchPlan
    scales: Mapping[str, float]
    origin: str
    log: Path
    threads: int
    vllm: VllmSetup | None = None

    def start_message(self, checkpoint: Path | None) -> bytes:
        """Encode the setup, with the checkpoint to start from if it is not the base model."""
        # Absolute: the engine's working directory is another.
        paths = {"log": str(self.log.resolve()), "checkpoint": checkpoint and str(checkpoint.resolve())}
        return pack_json({**asdict(self), **paths})
