"""The whole way on a real Slurm, with the real trainer: launched by form and API, followed, and the same to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import reconcile
from runs.forms import initial_from
from runs.management.following import Follower
from runs.models import Checkpoint, Cluster, Experiment, Run
from runs.series import read
from tests.clusters.far import cluster_of, there
from tests.clusters.slurm import SlurmCluster
from tests.clusters.sshd import Sshd
from tests.runs.calling import calls
from tests.runs.clusters import attempt_of
from tests.workers.attempts import until
from workers.config import preset
from workers.executors.states import State

SMALL = {"es": {"iterations": 2, "population": 4, "checkpoint_every": 1}, "evaluation": {"every": 1, "prompts": 2}}


@pytest.fixture
def clusters(local: Cluster, slurm: SlurmCluster, sshd: Sshd, tmp_path: Path, settings: Settings) -> None:
    """This machine, the Slurm as `far`, and the same over SSH, with a disk of its own, as `farther`."""
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    config = {"slurm_conf": str(slurm.conf), "env": {"HF_HUB_OFFLINE": "1"}}
    cluster_of(**config)
    cluster_of("farther", **config, **sshd.config(tmp_path / "there"))


def launched(ada: User, cluster: str) -> Run:
    """By a call of the API."""
    body = {"experiment_name": "Concise", "preset": "es-micro", "config": {**SMALL, "compute": {"cluster": cluster}}}
    answer = calls(ada, "launch").post("/api/v1/runs", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return Run.objects.get(uid=answer.json()["uid"])


def filled_in(client: Client, experiment: Experiment, cluster: str) -> Run:
    """By the form."""
    config = {**preset("es-micro").config, "compute": {"cluster": cluster}}
    knobs = initial_from({key: {**value, **SMALL.get(key, {})} if isinstance(value, dict) else value
                          for key, value in config.items()})  # fmt: skip
    typed = {key: value for key, value in knobs.items() if value is not None and value is not False}
    answer = client.post(reverse("launch", args=[experiment.pk]), {"preset": "es-micro", "seeds": "0", **typed})
    assert answer.status_code == 302, answer.content
    return Run.objects.latest("pk")


def trained(run: Run) -> Run:
    """Ticks and follows until the run has ended and all of its records are in the database."""
    follower = Follower()

    def is_done() -> bool:
        reconcile.tick(attempt_of(run).cluster)
        follower.look()
        return attempt_of(run).drained_at is not None

    until(is_done, 120)
    assert attempt_of(run).state == State.SUCCEEDED.value, attempt_of(run).reason
    return run


def curve(run: Run, key: str) -> list[tuple[float, float]]:
    """Its points along the steps."""
    [found] = read([run], [key])
    return list(zip(found.x.tolist(), found.y.tolist(), strict=True))


def copied(run: Run) -> bool:
    """All that it wrote there is here, but its checkpoints."""
    attempt = attempt_of(run)
    far, here = there(attempt), attempt.directory
    names = ("records.0.jsonl", "log.txt", "exit.json")
    is_same = all((far / name).read_bytes() == (here / name).read_bytes() for name in names)
    return is_same and (far / "checkpoints").is_dir() and not (here / "checkpoints").exists()


def test_es_on_slurm_is_es_here_to_the_bit(
    ada: User, ada_client: Client, experiment: Experiment, clusters: None
) -> None:
    runs = launched(ada, "local"), launched(ada, "farther"), filled_in(ada_client, experiment, "far")
    here, over_ssh, by_form = (trained(run) for run in runs)
    for run, cluster in ((over_ssh, "farther"), (by_form, "far")):
        assert attempt_of(run).native_id.isdecimal() and attempt_of(run).cluster.name == cluster
    saved = [
        dict(Checkpoint.objects.filter(run=run).values_list("step", "sha256")) for run in (here, over_ssh, by_form)
    ]
    assert saved[0] == saved[1] == saved[2] and set(saved[0]) >= {1, 2}
    for key in ("reward/mean", "kl", "es/update_norm"):
        assert curve(here, key) == curve(over_ssh, key) == curve(by_form, key) != []
    assert copied(over_ssh)
