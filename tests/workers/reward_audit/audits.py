"""Audits run in the process of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workers.config import RunConfig
from workers.config.resources import locate
from workers.engines.stop import Stop
from workers.records import Attack, Metric, RecordWriter, next_epoch, read, records_path
from workers.reward_audit.audit_run import audit


def audit_in(directory: Path, task: str | dict[str, Any], model: str = "micro", **settings: Any) -> dict[str, Attack]:
    """Audit a task in a directory, as its next epoch. Return the attacks of this start by name."""
    section = {"name": task, "options": {}} if isinstance(task, str) else task
    data = {"method": "audit", "model": {"path": model, "device": "cpu"}, "task": section, "audit": settings}
    epoch = next_epoch(directory)
    with RecordWriter(directory, epoch) as records:
        audit(locate(RunConfig.from_json(data), {}), records, Stop(), lambda message, share: None)
    return {record.attack: record for record in recorded(directory, epoch) if isinstance(record, Attack)}


def recorded(directory: Path, epoch: int = 0) -> list[Any]:
    """Return the records of an epoch."""
    return [line.record for line in read(records_path(directory, epoch), limit=10**8).lines]


def figures(directory: Path) -> dict[str, float]:
    """Return the figures of the audit."""
    return next(record.values for record in recorded(directory) if isinstance(record, Metric))
