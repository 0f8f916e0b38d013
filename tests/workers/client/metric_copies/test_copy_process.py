"""A logger that fails or hangs neither stops the run nor stays unnoticed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.client.metric_copies.copied_runs import (
    NEEDS_LOGGERS,
    OFFLINE,
    alerts,
    micro_config,
    tensorboard_points,
)
from tests.workers.training_process import records
from workers.client.metric_copies import copy_metrics
from workers.client.metric_copies.copy_process import CopyProcess, shared_config
from workers.client.metric_copies.loggers import TENSORBOARD
from workers.config import RunConfig
from workers.records import Alert, Metric, RecordWriter

pytestmark = NEEDS_LOGGERS
LACKS_ALL = "100 metric records are not in Weights & Biases; the next start of this attempt copies what is missing"


@pytest.fixture
def silent_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[socket.socket]:
    """Return a server that accepts connections and never replies, as the address of Weights & Biases."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        yield server


def write_metrics(writer: RecordWriter) -> None:
    for step in range(100):
        writer.write(Metric(step, {"reward/mean": float(step)}))


def tensorboard_process(writer: RecordWriter) -> tuple[CopyProcess, subprocess.Popen[bytes]]:
    """Start copying to TensorBoard; return the copies and their process."""
    config = micro_config(tensorboard=True)
    copies = CopyProcess(TENSORBOARD, config, writer, None)
    copies.start()
    assert copies.process is not None
    return copies, copies.process


def key_file(folder: Path, mode: int = 0o600) -> str:
    """Return the path of a file with a key."""
    file = folder / "key"
    file.write_text("0123456789abcdef0123456789abcdef01234567")
    file.chmod(mode)
    return str(file)


def test_hanging_logger_is_reported_at_the_end(tmp_path: Path, silent_server: socket.socket) -> None:
    """The metrics are written after the logger has connected, which is before it has received any."""
    out = tmp_path / "out"
    config = micro_config(tensorboard=True, wandb_project="tests", wandb_key_file=key_file(tmp_path))
    with RecordWriter(out, 0) as writer, copy_metrics(config, writer, None, patience=5.0):
        connection, _ = silent_server.accept()
        write_metrics(writer)
    connection.close()
    first, second = alerts(out)
    assert "Weights & Biases" in first and "the run continues" in first
    assert second == LACKS_ALL
    assert len(records(out, Metric)) == 100
    assert len(tensorboard_points(out)["reward/mean"]) == 100, "the other logger is not affected"


def test_logger_without_key_is_reported_once(
    tmp_path: Path, silent_server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    config = micro_config(wandb_project="tests")
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(config, writer, None):
        wait_until(lambda: alerts(tmp_path), "the report of the failure, while the run continues")
        write_metrics(writer)
    failure, count = alerts(tmp_path)
    assert "UsageError" in failure and "api_key" in failure.lower().replace("api key", "api_key")
    assert count == LACKS_ALL


def test_missing_key_file_is_reported(tmp_path: Path) -> None:
    config = micro_config(**OFFLINE, wandb_key_file=str(tmp_path / "none"))
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(config, writer, None):
        pass
    (failure,) = alerts(tmp_path)
    assert str(tmp_path / "none") in failure


def test_key_that_others_can_read_is_reported(tmp_path: Path) -> None:
    config = micro_config(**OFFLINE, wandb_key_file=key_file(tmp_path, mode=0o644))
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(config, writer, None):
        pass
    (alert,) = records(tmp_path, Alert)
    assert alert.message.endswith(f"run chmod 600 {tmp_path / 'key'}")


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    for name in ("tensorboard", "wandb"):
        (tmp_path / name).write_text("a file in the way")
    config = micro_config(tensorboard=True, **OFFLINE)
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(config, writer, None):
        writer.write(Metric(0, {"a": 1.0}))
    messages = "\n".join(alerts(tmp_path))
    for name in ("TensorBoard", "Weights & Biases"):
        assert f"metrics are no longer copied to {name}" in messages


def test_damaged_cursor_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard" / "copied.json").write_text('{"place": 1}')
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(micro_config(tensorboard=True), writer, None):
        writer.write(Metric(0, {"a": 1.0}))
    assert "copied.json holds no position" in alerts(tmp_path)[0]


def test_signals_of_the_job_do_not_end_the_copies(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        copies, process = tensorboard_process(writer)
        wait_until(lambda: list(tmp_path.glob("tensorboard/events*")), "the event file")
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            process.send_signal(number)
        write_metrics(writer)
        copies.end_input()
        copies.finish(time.monotonic() + PATIENCE_SECONDS)
    assert len(tensorboard_points(tmp_path)["reward/mean"]) == 100
    assert alerts(tmp_path) == []


def test_killed_process_is_reported(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        copies, process = tensorboard_process(writer)
        process.kill()
        wait_until(lambda: alerts(tmp_path), "the report, while the run continues")
        write_metrics(writer)
        copies.end_input()
        copies.finish(time.monotonic() + PATIENCE_SECONDS)
    killed, count = alerts(tmp_path)
    assert "its process was ended by signal 9" in killed
    assert count.startswith("100 metric records are not in TensorBoard")


def test_no_logger_starts_no_process(tmp_path: Path) -> None:
    before = threading.active_count()
    with RecordWriter(tmp_path, 0) as writer, copy_metrics(micro_config(), writer, None):
        assert threading.active_count() == before
    assert [path.name for path in tmp_path.iterdir()] == ["records.0.jsonl"]


def test_records_are_complete_when_the_block_raises(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="the training failed"),
        RecordWriter(tmp_path, 0) as writer,
        copy_metrics(micro_config(tensorboard=True), writer, None),
    ):
        write_metrics(writer)
        raise ValueError("the training failed")
    assert len(tensorboard_points(tmp_path)["reward/mean"]) == 100


def test_shared_config_has_no_addresses_or_secrets() -> None:
    options = {"scorer": "http://scorer.example:8090", "scorer_token_file": "/secret/scorer"}
    data = {
        "method": "es",
        "es": {},
        "task": {"name": "safety", "options": options},
        "tracking": {"push_url": "http://x"},
    }
    shared = shared_config(RunConfig.from_json(data))
    text = json.dumps(shared)
    assert "/secret" not in text and "http" not in text
    assert shared["task"]["name"] == "safety" and shared["es"]["population"]
