"""The whole way with the real trainer: config out, agent, training, records back in its directory, a true end.

The run is then resumed as if it had been lost, and a step that the second attempt saved is rebuilt.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pytest_django.fixtures import Settings

from runs import launching
from runs.ingest import ingest
from runs.launching import rebuilds
from runs.models import Attempt, Cluster, Experiment, Run, checkpoint_folder
from tests.runs.launching.test_launch_rebuilds import tick_rebuild_until
from tests.runs.local_cluster import tick_until
from workers import records
from workers.config import RunConfig, preset
from workers.executors.states import State
from workers.models.save import weights_sha256
from workers.records import Alert, Environment, Metric


def test_rebuild_equals_the_saved_checkpoint_bit_for_bit(
    experiment: Experiment, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    """Train to the end, lose all after step 1, resume, lose step 2 of the second attempt too, and rebuild that."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    run = launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(_short()))
    first = _succeeded(run)
    _check_records(first)
    straight = {step: weights_sha256(checkpoint_folder(first.directory, step)) for step in (1, 2, 3)}
    for step in (2, 3):
        shutil.rmtree(checkpoint_folder(first.directory, step))
    _forget_the_end(run)
    second = launching.create_resume_attempt(Run.objects.get(pk=run.pk))
    assert second.resumed_step == 1
    assert _succeeded(run) == second
    resumed = {step: weights_sha256(checkpoint_folder(second.directory, step)) for step in (2, 3)}
    assert resumed == {step: straight[step] for step in (2, 3)}
    shutil.rmtree(checkpoint_folder(second.directory, 2))
    ingest(second, 0, records.read(second.directory / "records.0.jsonl").lines)
    rebuild = rebuilds.rebuild_checkpoint(run, 2, run.created_by)
    done = tick_rebuild_until(rebuild, "the end of the rebuild", lambda r: r.state in ("succeeded", "failed"))
    assert done.state == State.SUCCEEDED.value, done.reason
    assert done.sha256 == straight[2] == weights_sha256(done.folder)
    assert json.loads((done.folder / "es-state.json").read_text())["step"] == 2


def _short() -> dict[str, Any]:
    """Return the config of three small iterations, each with a checkpoint."""
    micro = preset("es-micro").config
    es = {**micro["es"], "iterations": 3, "population": 2, "checkpoint_every": 1}
    return {**micro, "es": es, "evaluation": {"every": 0, "prompts": 2}}


def _succeeded(run: Run) -> Attempt:
    """Tick until the newest attempt has ended, and return it. It must have succeeded."""
    attempt = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    assert attempt.state == State.SUCCEEDED.value, attempt.reason
    return attempt


def _check_records(attempt: Attempt) -> None:
    """Check that the attempt ran the pinned code, measured every step and warned of nothing."""
    lines = records.read(attempt.directory / "records.0.jsonl").lines
    environment = lines[0].record
    assert isinstance(environment, Environment) and environment.code == attempt.code["sha256"]
    assert not [line for line in lines if isinstance(line.record, Alert)]
    assert {line.record.step for line in lines if isinstance(line.record, Metric)} == {0, 1, 2, 3}


def _forget_the_end(run: Run) -> None:
    run.attempts.update(state=State.LOST.value)
    Run.objects.filter(pk=run.pk).update(state=State.LOST.value)
