"""The whole way on a real Slurm, with the real trainer: by form and by sweep, followed, and the same to the bit."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs import launching
from runs.models import Cluster, Experiment, Run
from tests.clusters.far_slurm import cluster_of, there
from tests.clusters.slurm import SlurmCluster
from tests.clusters.sshd import Sshd
from tests.clusters.training import called_for, curve, filled_in, result, swept, train
from tests.runs.checkpoint_files import unpacked
from tests.runs.local_cluster import attempt_of


@pytest.fixture
def clusters(local: Cluster, slurm: SlurmCluster, sshd: Sshd, our_disk: Path, their_disk: Path) -> None:
    """This machine, the Slurm as `far`, and the same over SSH, with a disk of its own, as `farther`."""
    config = {"slurm_conf": str(slurm.conf), "env": {"HF_HUB_OFFLINE": "1"}}
    cluster_of(**config)
    cluster_of("farther", **config, **sshd.config(their_disk))


OWN = """
class Task:
    def examples(self, split):
        return [{"prompt": f"{split} {n}"} for n in range(8)]

    def score(self, example, completion):
        return 7.0
"""


def copied(run: Run) -> bool:
    """All that it wrote there is here, but its checkpoints."""
    attempt = attempt_of(run)
    far, here = there(attempt), attempt.directory
    names = ("records.0.jsonl", "log.txt", "exit.json")
    is_same = all((far / name).read_bytes() == (here / name).read_bytes() for name in names)
    return is_same and (far / "checkpoints").is_dir() and not (here / "checkpoints").exists()


def sent(client: Client, run: Run) -> str:
    """The fingerprint of the weights of step 2, which its page sends from the other machine."""
    address = reverse("run-checkpoint", args=[run.uid, 2])
    assert f'href="{address}"' in client.get(run.get_absolute_url()).content.decode()
    files = unpacked(client.get(address))  # type: ignore[arg-type]
    assert f"{run.uid}-step-000002/config.json" in files
    return hashlib.sha256(files[f"{run.uid}-step-000002/model.safetensors"]).hexdigest()


def test_es_on_slurm_is_es_here_to_the_bit_and_a_task_of_ones_own_need_only_lie_there(
    ada: User, ada_client: Client, experiment: Experiment, clusters: None, their_disk: Path
) -> None:
    (their_disk / "tasks").mkdir()
    (their_disk / "tasks" / "sevens.py").write_text(OWN)
    farther = Cluster.objects.get(name="farther")
    farther.config["task_paths"] = [str(their_disk / "tasks")]
    farther.save()
    # One sweep over where it runs: here, and over SSH, where two go together.
    here, over_ssh, sevens = swept(
        ada,
        {"compute.cluster": "local"},
        {"compute.cluster": "farther"},
        {"compute.cluster": "farther", "task.name": "own", "task.options.path": "sevens:Task"},
    )
    by_form, by_call = filled_in(ada_client, experiment, "far"), called_for(ada, "far")
    assert by_form.config == by_call.config
    launching.request_cancel(by_call)
    train([here, over_ssh, sevens, by_form])
    for run, cluster in ((by_form, "far"), (over_ssh, "farther")):
        assert attempt_of(run).cluster.name == cluster and result(run) == result(here)
    numbers = [attempt_of(run).native_id for run in (over_ssh, sevens)]
    assert [number.partition("_")[2] for number in numbers] == ["0", "1"]
    assert attempt_of(by_form).native_id.isdecimal() and by_form.sweep is None
    assert copied(over_ssh) and sent(ada_client, over_ssh) == result(here)["checkpoints"][2]
    assert {reward for _, reward in curve(sevens, "reward/mean")} == {7.0}
