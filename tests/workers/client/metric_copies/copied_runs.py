"""Runs whose metrics are copied, and the loggers' own readers of the copies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.training_process import records
from workers.config import RunConfig, preset
from workers.records import Alert

NEEDS_LOGGERS = pytest.mark.skipif(
    not (find_spec("tensorboard") and find_spec("wandb")),
    reason="the set loggers is not installed: requirements/install.sh loggers",
)
OFFLINE = {"wandb_project": "tests", "wandb_mode": "offline"}


def micro_config(**tracking: Any) -> RunConfig:
    """Return the config of a small ES run with these settings of `tracking`."""
    data = json.loads(json.dumps(preset("es-micro").config))
    return RunConfig.from_json({**data, "tracking": tracking})


def tensorboard_points(out: Path) -> dict[str, list[tuple[int, float, float]]]:
    """Return tag -> points (step, value, wall time), as TensorBoard's own reader sees all files of the run."""
    reader = import_module("tensorboard.backend.event_processing.event_accumulator")
    accumulator = reader.EventAccumulator(str(out / "tensorboard"), size_guidance={"scalars": 0})
    accumulator.Reload()
    tags = accumulator.Tags()["scalars"]
    return {tag: [(e.step, e.value, e.wall_time) for e in accumulator.Scalars(tag)] for tag in tags}


def wandb_files(out: Path) -> list[Path]:
    """Return the library's files of the run, oldest first."""
    return sorted((out / "wandb").glob("*run-*/run-*.wandb"))


def wandb_records(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, as the library's own reader prints them."""
    argv = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(file)]
    environment = os.environ | {"WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS, cwd=file.parent, env=environment
    )
    yield from map(json.loads, done.stdout.splitlines())


def wandb_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file in their order."""
    return [record["history"]["item"] for record in wandb_records(file) if record["type"] == "history"]


def alerts(out: Path, epoch: int = 0) -> list[str]:
    """Return the messages of the alerts."""
    return [alert.message for alert in records(out, Alert, epoch)]
