"""TensorBoard's own reader sees the values, steps and times of the records."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import numpy as np

from tests.workers.client.metric_copies.copied_runs import NEEDS_LOGGERS, alerts, micro_config, tensorboard_points
from tests.workers.training_process import lines
from workers.client.metric_copies import copy_metrics
from workers.records import Metric, RecordWriter, Status

pytestmark = NEEDS_LOGGERS


def test_event_file_holds_every_value_of_the_records(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(micro_config(tensorboard=True), writer, None):
        for step in range(300):
            writer.write(Metric(step, {"reward/mean": step / 7, "train/loss": -step}, {"tokens": 100.0 * step}))
            writer.write(Status("training"))
    expected: dict[str, list[tuple[int, float, float]]] = {}
    for line in lines(tmp_path):
        if isinstance(line.record, Metric):
            named = line.record.values | {f"axes/{name}": value for name, value in line.record.axes.items()}
            for tag, value in named.items():
                expected.setdefault(tag, []).append((line.record.step, float(np.float32(value)), line.t))
    assert tensorboard_points(tmp_path) == expected
    assert len(expected["train/loss"]) == 300
    assert alerts(tmp_path) == []


def test_event_file_holds_infinite_values(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(micro_config(tensorboard=True), writer, None):
        writer.write(Metric(1, {"a": math.nan, "b": math.inf}))
    points = tensorboard_points(tmp_path)
    assert math.isnan(points["a"][0][1]) and points["b"][0][1] == math.inf


def test_event_file_holds_the_config(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(micro_config(tensorboard=True), writer, None):
        pass
    reader = import_module("tensorboard.backend.event_processing.event_accumulator")
    accumulator = reader.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    (event,) = accumulator.Tensors("config")
    text = event.tensor_proto.string_val[0].decode()
    assert '"method": "es"' in text and "tracking" not in text


def test_resumed_run_replaces_the_steps_that_it_repeats(tmp_path: Path) -> None:
    """The first start saves step 2 and ends after step 4. The second sends a measurement before its first step."""
    config = micro_config(tensorboard=True)
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(config, writer, None):
        for step in range(5):
            writer.write(Metric(step, {"reward/mean": float(step), "system/cpu_cores": 1.0}))
    (tmp_path / "checkpoints" / "step-000002").mkdir(parents=True)
    with RecordWriter(tmp_path, 1) as writer, copy_metrics(config, writer, None):
        writer.write(Metric(0, {"system/cpu_cores": 2.0}))
        for step in range(3, 7):
            writer.write(Metric(step, {"reward/mean": 10.0 * step}))
    points = tensorboard_points(tmp_path)
    means = [(step, value) for step, value, _ in points["reward/mean"]]
    assert means == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 30.0), (4, 40.0), (5, 50.0), (6, 60.0)]
    cores = [(step, value) for step, value, _ in points["system/cpu_cores"]]
    assert cores == [(0, 1.0), (1, 1.0), (2, 1.0), (2, 2.0)]


def test_start_copies_what_an_earlier_start_left_over(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        writer.write(Metric(0, {"reward/mean": 0.25}))
    with RecordWriter(tmp_path, 1) as writer, copy_metrics(micro_config(tensorboard=True), writer, Path("step-000000")):
        writer.write(Metric(1, {"reward/mean": 0.5}))
    assert [(step, value) for step, value, _ in tensorboard_points(tmp_path)["reward/mean"]] == [(0, 0.25), (1, 0.5)]
