"""A subject: the weights of one step of a run, or of one model, as the probes receive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.config import RunConfig
from workers.engines.es.replay_history import Trail


@dataclass(frozen=True)
class Subject:
    """The weights `tuned` of a run after `step`, and the base model that they started from.

    `name` is the run's uid, or its folder's name. `method` is that of the run; empty for a model without a run.
    `base` is None for a model whose base is not known. `saved` maps steps to checkpoint folders. `trail` is what led to
    the step, for ES runs with a replay log.
    """

    name: str
    step: int
    tuned: Path
    base: Path | None
    method: str = ""
    attempts: Sequence[Path] = ()
    config: RunConfig | None = None
    saved: Mapping[int, Path] = field(default_factory=dict)
    trail: Trail | None = None

    def __str__(self) -> str:
        return f"{self.name}@{self.step}"
