"""Many attempts in the queue: Slurm is asked once a tick, and many are cancelled by a few commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment, Origin, Run, key_of
from tests.clusters.far_slurm import Far, asked
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until
from workers.config import RunConfig, preset
from workers.executors.slurm.job import naming
from workers.executors.states import State

MANY, CANCELLED = 60, 20


@pytest.fixture
def drained(slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """Nothing starts."""
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    yield slurm
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=RESUME")


def queued(experiment: Experiment, person: User, slurm: SlurmCluster) -> list[Attempt]:
    """Attempts that wait on the cluster, each with its job."""
    config = RunConfig.from_json({**preset("es-micro").config, "compute": {"cluster": "far"}}).to_json()
    runs = Run.objects.bulk_create(
        Run(experiment=experiment, name=f"run {n}", method="es", seed=n, config=config, created_by=person)
        for n in range(MANY)
    )
    far = Cluster.objects.get(name="far")
    number = slurm.ask("sbatch", "--parsable", "--hold", f"--array=0-{MANY - 1}", "--output=/dev/null", "--wrap=true")
    slurm.ask("scontrol", text=naming(number.strip(), [key_of(run, 1) for run in runs]))
    # Slurm says why a job waits once its scheduler has come to it, some hundred at a time.
    wait_until(lambda: _is_said_of_all(slurm), "Slurm to give the reason for which each job waits", details=slurm.told)
    return Attempt.objects.bulk_create(
        Attempt(run=run, n=1, key=key_of(run, 1), cluster=far, origin=Origin.LAUNCH, state=State.QUEUED.value)
        for run in runs
    )


def _is_said_of_all(slurm: SlurmCluster) -> bool:
    reasons = slurm.ask("squeue", "--noheader", "--array", "--format=%r").split("\n")[:-1]
    return len(reasons) == MANY and not {"None", "JobHeldUser"} & set(reasons)


def test_a_tick_over_many_asks_once(experiment: Experiment, ada: User, far: Far, drained: SlurmCluster) -> None:
    queued(experiment, ada, drained)
    cluster = Cluster.objects.get(name="far")
    reconcile.reconcile_cluster(cluster)
    asked.clear()
    reconcile.reconcile_cluster(cluster)
    assert [argv[0] for argv in asked] == ["squeue"]
    waiting = Attempt.objects.filter(cluster=cluster, state=State.QUEUED.value)
    assert waiting.count() == MANY and not waiting.filter(gone_since_at__isnull=False).exists()
    assert set(waiting.values_list("native_state", flat=True)) == {"PENDING"}
    assert waiting.filter(reason__startswith="waiting: ").count() == MANY
    ending = Attempt.objects.filter(pk__in=waiting.order_by("pk").values("pk")[:CANCELLED])
    ending.update(cancel_requested_at=timezone.now())
    asked.clear()
    reconcile.reconcile_cluster(cluster)
    assert [argv[0] for argv in asked] == ["xargs", "xargs", "squeue"]
    assert waiting.count() == MANY - CANCELLED
    ended = Attempt.objects.filter(cluster=cluster, state=State.CANCELLED.value)
    assert ended.count() == ended.filter(cancel_requested_at__isnull=False).count() == CANCELLED
