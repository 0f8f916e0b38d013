"""The axis of GPU-seconds in a run's records, checked step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.engines.es.runs import records_of
from workers.records import Metric


def check_gpu_seconds(directory: Path, gpus_by_epoch: tuple[int, ...], steps: int) -> None:
    """Assert that each step adds its seconds times the GPUs of its epoch, and that no other record moves the axis."""
    total, seen = 0.0, []
    for epoch, gpus in enumerate(gpus_by_epoch):
        for metric in records_of(directory, Metric, epoch):
            if "time/step_seconds" in metric.values:
                total += metric.values["time/step_seconds"] * gpus
                seen.append(metric.step)
            assert metric.axes["gpu_seconds"] == pytest.approx(total, rel=1e-9), (epoch, metric.step)
    assert seen == list(range(1, steps + 1)) and total > 0
