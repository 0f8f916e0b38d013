"""A training copies all its metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workers.client.metric_copies.copied_runs import (
    NEEDS_LOGGERS,
    OFFLINE,
    alerts,
    tensorboard_points,
    wandb_files,
    wandb_rows,
)
from tests.workers.training_process import lines, records, run_json
from workers.records import Metric, Status
from workers.train import main

# Warnings about how TRL uses transformers, because the training runs in the tests' own process.
pytestmark = [NEEDS_LOGGERS, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")]


@pytest.mark.usefixtures("restored_signals")
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("es-micro", {"es": {"iterations": 2, "population": 4}}),
        pytest.param("grpo-micro", {"grpo": {"max_steps": 2}}, marks=pytest.mark.soak),
    ],
)
def test_training_copies_its_metrics(tmp_path: Path, name: str, steps: dict[str, dict[str, int]]) -> None:
    path, out = run_json(tmp_path, name, **steps), tmp_path / "out"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tracking": {"tensorboard": True, **OFFLINE}}))
    assert main([str(path), "--out", str(out)]) == 0
    metrics = records(out, Metric)
    assert len(wandb_rows(wandb_files(out)[0])) == len(metrics)
    points = sum(map(len, tensorboard_points(out).values()))
    assert points == sum(len(metric.values) + len(metric.axes) for metric in metrics)
    assert alerts(out) == []
    assert lines(out)[-1].record == Status("done", progress=1.0)
