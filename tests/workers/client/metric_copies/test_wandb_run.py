"""The library's own reader sees the values and steps of the records, and nothing that was not meant for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.client.metric_copies.copied_runs import (
    NEEDS_LOGGERS,
    OFFLINE,
    alerts,
    micro_config,
    wandb_files,
    wandb_records,
    wandb_rows,
)
from tests.workers.training_process import lines
from workers.client.metric_copies import copy_metrics
from workers.records import Metric, RecordWriter

pytestmark = NEEDS_LOGGERS
KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run of a site, with a key, whose 100 metrics are copied."""
    folder = tmp_path_factory.mktemp("wandb")
    key_file, out = folder / "key", folder / "esweb-k3m9x2p7qa-a1"
    key_file.write_text(KEY)
    key_file.chmod(0o600)
    config = micro_config(**OFFLINE, wandb_key_file=str(key_file), token_file="/secret/token", system_seconds=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_NOTES", "from the environment")
        with RecordWriter(out, 0) as writer, copy_metrics(config, writer, None):
            for step in range(100):
                writer.write(Metric(step, {"reward/mean": step / 7}, {"tokens": 100.0 * step}))
    return out


@pytest.fixture(scope="module")
def copied(out: Path) -> list[dict[str, Any]]:
    """Return the records of the run's file."""
    (file,) = wandb_files(out)
    return list(wandb_records(file))


def test_offline_file_holds_every_value_of_the_records(out: Path, copied: list[dict[str, Any]]) -> None:
    rows = [record["history"]["item"] for record in copied if record["type"] == "history"]
    names = ("reward/mean", "axes/tokens", "step", "_timestamp")
    assert [[row[name] for name in names] for row in rows] == [
        [line.record.values["reward/mean"], line.record.axes["tokens"], line.record.step, line.t]
        for line in lines(out)
        if isinstance(line.record, Metric)
    ]
    assert len(rows) == 100
    assert alerts(out) == []


def test_step_is_the_axis_of_all_values(copied: list[dict[str, Any]]) -> None:
    defined = [record["metric"] for record in copied if record["type"] == "metric"]
    assert any(metric.get("glob_name") == "*" and metric.get("step_metric") == "step" for metric in defined)


def test_resumed_run_loses_no_repeated_step(tmp_path: Path) -> None:
    """Both starts write to one run, whose rows follow each other although the steps go back."""
    config = micro_config(**OFFLINE)
    for epoch, steps in enumerate([(0, 1, 2, 3), (2, 3, 4)]):
        with RecordWriter(tmp_path, epoch) as writer, copy_metrics(config, writer, None):
            for step in steps:
                writer.write(Metric(step, {"reward/mean": float(step)}))
    first, second = wandb_files(tmp_path)
    assert first.name == second.name
    rows = wandb_rows(first) + wandb_rows(second)
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 2, 3, 4]
    assert [row["_step"] for row in rows] == list(range(7))


def test_run_of_a_site_has_the_id_of_the_run(out: Path, tmp_path: Path) -> None:
    second = tmp_path / "esweb-k3m9x2p7qa-a2"
    with RecordWriter(second, 0) as writer, copy_metrics(micro_config(**OFFLINE), writer, None):
        pass
    names = [file.name for attempt in (out, second) for file in wandb_files(attempt)]
    assert names == ["run-k3m9x2p7qa.wandb"] * 2


def test_no_file_holds_the_key_or_facts_of_the_machine(out: Path, copied: list[dict[str, Any]]) -> None:
    files = [file for file in out.rglob("*") if file.is_file()]
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    (file,) = wandb_files(out)
    sent = file.read_bytes()
    for private in (str(out.parent), "/secret/token", "from the environment"):
        assert private.encode() not in sent
    by_kind = {record["type"]: record for record in copied}
    assert by_kind.keys() <= {"header", "run", "telemetry", "metric", "summary", "history", "exit"}
    run = by_kind["run"]["run"]
    assert run.keys() == {"config", "display_name", "host", "project", "run_id", "start_time", "telemetry"}
    assert run["host"] == "esweb"
    assert run["telemetry"].keys() == {"cli_version", "feature", "platform", "python_version"}
    assert alerts(out) == []
