"""Files of runs and rebuilds, and a run in two attempts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.runs import StopsAfter, run
from workers.engines.context import Stopped, latest_checkpoint
from workers.models import Loaded

ANSWERS_AN_ITERATION = 6 * 4


def files(folder: Path) -> dict[str, bytes]:
    """Return every file of a checkpoint by its relative path."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def log_lines(directory: Path) -> list[Any]:
    """Return the parsed lines of the replay log."""
    return [json.loads(line) for line in (directory / "replay.jsonl").read_text().splitlines() if line]


def checkpoint(directory: Path, step: int) -> Path:
    return directory / "checkpoints" / f"step-{step:06d}"


def stopped_and_resumed(micro: Loaded, root: Path, at: int, **options: Any) -> Path:
    """Train in two attempts, of which the first is stopped after `at` iterations. Return the run's root."""
    # The evaluations at steps 0, 2, 4 … score two prompts, greedily and once sampled.
    task = StopsAfter(ANSWERS_AN_ITERATION * at + 4 * (1 + at // 2) + 1)
    with pytest.raises(Stopped, match=f"after iteration {at} of"):
        run(micro, root / "esweb-x-a1", task, task.stop, **options)
    run(micro, root / "esweb-x-a2", resume=latest_checkpoint(root / "esweb-x-a1"), **options)
    return root
