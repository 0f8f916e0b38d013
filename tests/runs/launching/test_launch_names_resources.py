"""A run that names its model and its data by resource names trains on exactly the named files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pytest_django.fixtures import Settings

from runs import launching
from runs.models import Cluster, Experiment, checkpoint_folder
from tests.runs.full_runs import make_run
from tests.runs.local_cluster import tick_until
from workers.config import RunConfig, preset
from workers.executors.states import State
from workers.models import resolve
from workers.models.save import weights_sha256

QUESTIONS = [{"question": f"How much is {n} and {n}?", "answer": str(2 * n)} for n in range(8)]


def test_run_trains_from_the_checkpoint_and_the_file_that_it_names(
    experiment: Experiment, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    source = make_run(experiment, "es-micro", state=State.SUCCEEDED).newest_attempt()
    assert source is not None
    checkpoint = checkpoint_folder(source.directory, 3)
    shutil.copytree(resolve("micro"), checkpoint)
    folder = tmp_path / "data"
    (folder / "sums").mkdir(parents=True)
    (folder / "sums" / "eval.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    local.config = {"data_paths": [str(folder)]}
    local.save()
    micro = preset("es-micro").config
    config = {
        **micro,
        "model": {"path": f"run:{source.run.uid}@3"},
        "task": {"name": "conciseness", "options": {"eval_file": "sums/eval.jsonl"}},
        "es": {**micro["es"], "iterations": 1, "population": 2, "checkpoint_every": 1},
        "evaluation": {"every": 0, "prompts": 2, "samples": 0},
    }
    run = launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config))
    ended = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    assert ended.state == State.SUCCEEDED.value, ended.reason
    assert json.loads((ended.directory / "run.json").read_text())["model"]["path"] == f"run:{source.run.uid}@3"
    state = json.loads((checkpoint_folder(ended.directory, 1) / "es-state.json").read_text())
    assert state["origin"]["base_sha256"] == weights_sha256(checkpoint)
    records = (ended.directory / "records.0.jsonl").read_text()
    assert any(question["question"] in records for question in QUESTIONS)
