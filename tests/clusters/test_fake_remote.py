"""What differs on a cluster with a disk of its own, on a fake: code is shipped, files come late, checkpoints stay."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.ingest import Follower
from runs.models import Experiment
from tests.clusters.fakes import agent
from tests.clusters.fakes.far import OVER_SSH, Far
from tests.clusters.scripted_slurm import launch_run, set_timeouts
from tests.clusters.training import launch_by_api, launch_by_form
from tests.runs.checkpoint_files import unpack_reply
from tests.runs.local_cluster import attempt_of
from workers.executors.openssh import remote_disk
from workers.executors.states import State

pytestmark = OVER_SSH


def test_code_is_shipped_and_form_and_api_launch_alike(
    far: Far, ada: User, ada_client: Client, experiment: Experiment, cluster_disk: Path
) -> None:
    far.configure(project="", task_paths=["/srv/tasks"])
    by_form, by_call = launch_by_form(ada_client, experiment, "far"), launch_by_api(ada, "far")
    assert by_form.config == by_call.config
    far.tick()
    for run in (by_form, by_call):
        attempt = attempt_of(run)
        assert attempt.state == State.QUEUED.value and attempt.code is not None, attempt.reason
        pinned = cluster_disk / "code" / attempt.code["sha256"]
        assert (pinned / "workers" / "train.py").exists() or (pinned / "workers" / "train").is_dir()
        spec = json.loads((far.directory(attempt) / "spec.json").read_text())
        assert spec["env"]["PYTHONPATH"] == str(pinned) and spec["env"]["ESWEB_TASK_PATHS"] == "/srv/tasks"
        assert spec["env"]["ESWEB_CACHE"] == f"{cluster_disk}/cache"
        assert spec["argv"][-2:] == ["--code", attempt.code["sha256"]]
        assert json.loads((far.directory(attempt) / "run.json").read_text()) == run.config
    assert not (cluster_disk / "queue").exists()


def test_checkpoint_stays_there_and_is_sent_from_there(far: Far, ada_client: Client, experiment: Experiment) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    agent.report_checkpoint(far.directory(running), 5)
    far.fake.finish(running.key)
    far.tick()
    Follower().look()
    assert not (running.directory / "checkpoints").exists()
    address = reverse("run-checkpoint", args=[run.uid, 5])
    assert f'href="{address}"' in ada_client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()
    files = unpack_reply(ada_client.get(address))  # type: ignore[arg-type]
    weights = files[f"{run.uid}-step-000005/model.safetensors"]
    assert hashlib.sha256(weights).hexdigest() == hashlib.sha256(b"www").hexdigest()


def test_end_is_not_decided_before_all_files_arrived(
    far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_disk, "LOOKS_SECONDS", 0.0)
    monkeypatch.setattr(remote_disk, "FILE_BYTES", 10)
    set_timeouts(exit_record=0.0)
    run = launch_run(experiment)
    running = far.start(run)
    (far.directory(running) / "slurm.log").write_text("a long story\nMemoryError")
    far.fake.end(running.key, "FAILED")
    assert [far.tick(run)[0].state for _ in range(3)] == ["running", "running", "failed"]
    assert "out of memory: it needs more than it requested" in attempt_of(run).reason
