"""Many attempts in the queue: Slurm is queried once a tick, and many are cancelled by a few commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment, Origin, Run, key_of
from tests.clusters.scripted_slurm import ScriptedSlurm, recorded_commands
from tests.clusters.slurm import SlurmCluster
from tests.waiting import wait_until
from workers.config import RunConfig, preset
from workers.executors.slurm.job import NEVER, naming_commands
from workers.executors.states import State

pytestmark = pytest.mark.soak

MANY, CANCELLED = 60, 20


@pytest.fixture
def drained_slurm(slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """Yield a Slurm whose nodes are drained, so that no job starts."""
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    yield slurm
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=RESUME")


def make_queued_attempts(experiment: Experiment, person: User, slurm: SlurmCluster) -> list[Attempt]:
    """Create attempts that wait on the cluster, each with its job."""
    config = RunConfig.from_json({**preset("es-micro").config, "compute": {"cluster": "far"}}).to_json()
    runs = Run.objects.bulk_create(
        Run(experiment=experiment, name=f"run {n}", method="es", seed=n, config=config, created_by=person)
        for n in range(MANY)
    )
    cluster = Cluster.objects.get(name="far")
    begin, tasks = f"--begin={NEVER}", f"--array=0-{MANY - 1}"
    number = slurm.ask("sbatch", "--parsable", begin, tasks, "--output=/dev/null", "--wrap=true")
    slurm.ask("scontrol", text=naming_commands(number.strip(), [key_of(run, 1) for run in runs]))
    # Slurm gives a job's reason for waiting once its scheduler has handled it, some hundred jobs at a time.
    wait_until(
        lambda: _has_all_reasons(slurm), "Slurm to give the reason for which each job waits", details=slurm.describe
    )
    return Attempt.objects.bulk_create(
        Attempt(run=run, n=1, key=key_of(run, 1), cluster=cluster, origin=Origin.LAUNCH, state=State.QUEUED.value)
        for run in runs
    )


def _has_all_reasons(slurm: SlurmCluster) -> bool:
    reasons = slurm.ask("squeue", "--noheader", "--array", "--format=%r").split("\n")[:-1]
    return len(reasons) == MANY and not {"None", "BeginTime"} & set(reasons)


def test_tick_queries_slurm_once_for_many_attempts(
    experiment: Experiment, ada: User, slurm_executor: ScriptedSlurm, drained_slurm: SlurmCluster
) -> None:
    make_queued_attempts(experiment, ada, drained_slurm)
    cluster = Cluster.objects.get(name="far")
    reconcile.reconcile_cluster(cluster)
    recorded_commands.clear()
    reconcile.reconcile_cluster(cluster)
    assert [argv[0] for argv in recorded_commands] == ["squeue"]
    waiting = Attempt.objects.filter(cluster=cluster, state=State.QUEUED.value)
    assert waiting.count() == MANY and not waiting.filter(gone_since_at__isnull=False).exists()
    assert set(waiting.values_list("native_state", flat=True)) == {"PENDING"}
    assert waiting.filter(reason__startswith="waiting: ").count() == MANY
    ending = Attempt.objects.filter(pk__in=waiting.order_by("pk").values("pk")[:CANCELLED])
    ending.update(cancel_requested_at=timezone.now())
    recorded_commands.clear()
    reconcile.reconcile_cluster(cluster)
    assert [argv[0] for argv in recorded_commands] == ["xargs", "xargs", "squeue"]
    assert waiting.count() == MANY - CANCELLED
    ended = Attempt.objects.filter(cluster=cluster, state=State.CANCELLED.value)
    assert ended.count() == ended.filter(cancel_requested_at__isnull=False).count() == CANCELLED
