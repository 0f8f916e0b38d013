"""Runs of method evaluate in the tests' own process, and what they record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workers.config import RunConfig
from workers.config.resources import locate
from workers.engines.stop import Stop
from workers.probes.evaluate import evaluate
from workers.records import Metric, RecordWriter, Response, next_epoch, read, records_path

PLAN = {"prompts": 3, "samples": 4, "max_new_tokens": 8}


def config_of(*, task: dict[str, Any] | None = None, model: str = "micro", plan: Any = None, **settings: Any) -> Any:
    """Return the config of an evaluation on the CPU."""
    data = {
        "method": "evaluate",
        "model": {"path": model, "device": "cpu"},
        "task": task or {"name": "conciseness"},
        "evaluate": settings,
        "evaluation": PLAN | (plan or {}),
    }
    return locate(RunConfig.from_json(data), {})


def evaluate_in(directory: Path, config: RunConfig, stop: Stop | None = None) -> None:
    """Evaluate in a directory, as its next epoch."""
    with RecordWriter(directory, next_epoch(directory)) as records:
        evaluate(config, records, stop or Stop(), lambda message, share: None)


def values_of(directory: Path, epoch: int = 0) -> dict[int, dict[str, float]]:
    """Return step -> values that do not depend on the clock."""
    piece = read(records_path(directory, epoch), limit=10**8)
    records = [line.record for line in piece.lines]
    metrics = [r for r in records if isinstance(r, Metric) and "evaluate/prompts" in r.values]
    return {m.step: {k: v for k, v in m.values.items() if not k.startswith("time/")} for m in metrics}


def responses_of(directory: Path, epoch: int = 0) -> list[Response]:
    piece = read(records_path(directory, epoch), limit=10**8)
    return [line.record for line in piece.lines if isinstance(line.record, Response)]
