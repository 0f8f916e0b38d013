"""The whole way with the real trainer: config out, agent, training, records back in its directory, a true end.

The run is then resumed as if it had been lost, and a step that the second attempt saved is rebuilt. The folders of both
attempts, imported, are the same run once more.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from django.core.management import call_command
from pytest_django.fixtures import Settings

from runs import checkpoints, launching
from runs.ingest import Follower
from runs.launching import rebuilds
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run, checkpoint_folder
from tests.runs.launching.test_launch_rebuilds import tick_rebuild_until
from tests.runs.local_cluster import tick_until
from tests.runs.row_comparison import different_tables
from tests.waiting import wait_until
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
    _check_imports(run, tmp_path)
    shutil.rmtree(checkpoint_folder(second.directory, 2))
    rebuild = rebuilds.rebuild_checkpoint(run, 2, run.created_by)
    done = tick_rebuild_until(rebuild, "the end of the rebuild", lambda r: r.state in ("succeeded", "failed"))
    assert done.state == State.SUCCEEDED.value, done.reason
    assert done.sha256 == straight[2] == weights_sha256(done.folder)
    assert json.loads((done.folder / "es-state.json").read_text())["step"] == 2


def _short() -> dict[str, Any]:
    """Return the config of three small iterations, each with a checkpoint that stays."""
    micro = preset("es-micro").config
    es = {**micro["es"], "iterations": 3, "population": 2, "checkpoint_every": 1, "keep": "all"}
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


def _check_imports(run: Run, tmp_path: Path) -> None:
    """Import the folder of the run's attempts as it is, as a zip and as a tar: each is equal to the run, row by row."""
    follower = Follower()
    wait_until(lambda: not follower.look() and not run.attempts.undrained().exists(), "all records are stored")
    run.attempts.filter(n=1).update(state=State.SUCCEEDED.value)
    archives = [Path(shutil.make_archive(str(tmp_path / run.uid), kind, run.root)) for kind in ("zip", "gztar")]
    for path in (run.root, *archives):
        call_command("import", str(path), experiment=path.name, verbosity=0)
        copy = Run.objects.get(experiment__name=path.name)
        _check_differences(run, copy)
        for attempt, copied in zip(run.attempts.order_by("n"), copy.attempts.order_by("n"), strict=True):
            names = sorted(file.relative_to(attempt.directory) for file in attempt.directory.glob("**/*.jsonl"))
            for name in (*names, "log.txt", "run.json"):
                assert (copied.directory / name).read_bytes() == (attempt.directory / name).read_bytes()
        assert list(checkpoints.by_step(copy)) == list(checkpoints.by_step(run)) == [3, 2, 1]
        assert checkpoints.at_step(copy, 3).record.sha256 == weights_sha256(checkpoints.at_step(copy, 3).folder)


def _check_differences(run: Run, copy: Run) -> None:
    """Check that an imported run lacks what only its site knew: the scheduler's words, and the commit of its code."""
    tables = different_tables(run, copy)
    texts = {(table, text.partition(":")[0]) for table in ("Run", "Attempt") for text in tables.pop(table)}
    assert texts == {("Run", "note"), *(("Attempt", name) for name in ("native_id", "native_state", "code"))}
    assert set(tables) == {"AttemptEvent"}
    alerts, copied_alerts = (
        [
            (event.attempt.n, event.level, event.why)
            for event in AttemptEvent.objects.filter(attempt__run=one, to_state="")
        ]
        for one in (run, copy)
    )
    assert alerts == copied_alerts
    assert [attempt.code_sha256 for attempt in run.attempts.all()] == [a.code_sha256 for a in copy.attempts.all()]


def _forget_the_end(run: Run) -> None:
    run.attempts.update(state=State.LOST.value)
    Run.objects.filter(pk=run.pk).update(state=State.LOST.value)
