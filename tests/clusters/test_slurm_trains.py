"""A whole training on a real Slurm, with the real trainer: by form and by sweep, followed, equal bit by bit,
evaluated and probed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs import launching
from runs.models import Cluster, Experiment, Run
from tests.clusters.scripted_slurm import cluster_directory, make_slurm_cluster
from tests.clusters.slurm import SlurmCluster
from tests.clusters.sshd import Sshd
from tests.clusters.training import (
    check_evaluation,
    check_probe,
    launch_by_api,
    launch_by_form,
    launch_by_sweep,
    launch_evaluation,
    launch_probe,
    read_curve,
    read_result,
    train,
)
from tests.runs.checkpoint_files import unpack_reply
from tests.runs.local_cluster import attempt_of

pytestmark = pytest.mark.soak


@pytest.fixture
def clusters(local: Cluster, slurm: SlurmCluster, sshd: Sshd, site_disk: Path, cluster_disk: Path) -> None:
    """Set up this machine, the Slurm as `far`, and the same over SSH, with a disk of its own, as `farther`."""
    config = {"slurm_conf": str(slurm.conf), "env": {"HF_HUB_OFFLINE": "1"}}
    make_slurm_cluster(**config)
    make_slurm_cluster("farther", **config, **sshd.config(cluster_disk))


LOG = "replay.jsonl"
TASK = """
class Task:
    def examples(self, split):
        return [{"prompt": f"{split} {n}"} for n in range(8)]

    def score(self, example, completion):
        return 7.0
"""


def is_copied(run: Run) -> bool:
    """Return whether all remote files of the run are here too, except its checkpoints."""
    attempt = attempt_of(run)
    remote, local = cluster_directory(attempt), attempt.directory
    names = ("records.0.jsonl", "log.txt", "exit.json")
    is_same = all((remote / name).read_bytes() == (local / name).read_bytes() for name in names)
    return is_same and (remote / "checkpoints").is_dir() and not (local / "checkpoints").exists()


def download_checkpoint_hash(client: Client, run: Run) -> str:
    """Download the weights of step 2, which the run's page sends from the remote machine, and return their SHA-256."""
    address = reverse("run-checkpoint", args=[run.uid, 2])
    assert f'href="{address}"' in client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()
    files = unpack_reply(client.get(address))  # type: ignore[arg-type]
    assert f"{run.uid}-step-000002/config.json" in files
    return hashlib.sha256(files[f"{run.uid}-step-000002/model.safetensors"]).hexdigest()


def test_es_on_slurm_equals_local_es_with_own_task(
    ada: User, ada_client: Client, experiment: Experiment, clusters: None, cluster_disk: Path
) -> None:
    (cluster_disk / "tasks").mkdir()
    (cluster_disk / "tasks" / "sevens.py").write_text(TASK)
    farther = Cluster.objects.get(name="farther")
    farther.config["task_paths"] = [str(cluster_disk / "tasks")]
    farther.save()
    # One sweep over the cluster: this machine, and over SSH, where two runs are submitted together.
    local_run, over_ssh, sevens = launch_by_sweep(
        ada,
        {"compute.cluster": "local"},
        {"compute.cluster": "farther"},
        {"compute.cluster": "farther", "task.name": "own", "task.options.path": "sevens:Task"},
    )
    by_form, by_call = launch_by_form(ada_client, experiment, "far"), launch_by_api(ada, "far")
    assert by_form.config == by_call.config
    launching.request_cancel(by_call)
    train([local_run, over_ssh, sevens, by_form])
    for run, cluster in ((by_form, "far"), (over_ssh, "farther")):
        assert attempt_of(run).cluster.name == cluster and read_result(run) == read_result(local_run)
    numbers = [attempt_of(run).native_id for run in (over_ssh, sevens)]
    assert [number.partition("_")[2] for number in numbers] == ["0", "1"]
    assert attempt_of(by_form).native_id.isdecimal() and by_form.sweep is None
    assert (
        is_copied(over_ssh)
        and download_checkpoint_hash(ada_client, over_ssh) == read_result(local_run)["checkpoints"][2]
    )
    assert {reward for _, reward in read_curve(sevens, "reward/mean")} == {7.0}


def test_evaluation_and_probe_on_slurm_equal_what_the_training_recorded(ada: User, clusters: None) -> None:
    """The cluster is behind SSH, so that both read the replay log and the checkpoints on the cluster's own disk."""
    training = launch_by_api(ada, "farther")
    train([training])
    evaluation, probe = launch_evaluation(ada, training), launch_probe(ada, training)
    train([evaluation, probe])
    check_evaluation(evaluation, training)
    check_probe(probe, training)
    attempt = attempt_of(training)
    assert (cluster_directory(attempt) / LOG).exists() and not (attempt.directory / LOG).exists()
