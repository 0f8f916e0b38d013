"""The whole way with the real trainer: config out, agent, training, records back in its directory, a true end."""

from __future__ import annotations

from pathlib import Path

from pytest_django.fixtures import Settings

from runs import launch
from runs.models import Cluster, Experiment
from tests.runs.clusters import tick_until
from workers import records
from workers.config import preset
from workers.executors.states import State
from workers.records import Alert, Environment, Metric


def test_a_micro_run_trains_to_its_end(
    experiment: Experiment, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    micro = preset("es-micro").config
    config = {
        **micro,
        "es": {**micro["es"], "iterations": 1, "population": 2},
        "evaluation": {"every": 0, "prompts": 2},
    }
    run = launch.create_run(experiment=experiment, person=experiment.owner, config=config)
    ended = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    assert ended.state == State.SUCCEEDED.value, ended.reason
    lines = records.read(ended.directory / "records.0.jsonl").lines
    told = lines[0].record
    assert isinstance(told, Environment) and told.code == ended.code["sha256"]
    assert not [line for line in lines if isinstance(line.record, Alert)]
    assert {line.record.step for line in lines if isinstance(line.record, Metric)} == {0, 1}
