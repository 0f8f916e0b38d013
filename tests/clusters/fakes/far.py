"""The cluster `far` on a fake: Slurm's commands here or behind SSH, or Ray. Only the fake itself replaces production
code; timeouts have not passed until a test sets them to zero."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from runs import clusters
from runs.clusters import executors
from runs.launching import reconcile
from runs.models import Attempt, Cluster, Job, Run
from tests.clusters.fakes.ray import FakeRay
from tests.clusters.fakes.slurm import FakeSlurm
from tests.clusters.fakes.ssh import InProcessSsh
from tests.clusters.scripted_slurm import cluster_directory, tick_run
from tests.runs.code_once import read_code_once
from tests.runs.local_cluster import attempt_of
from workers.executors.agent_start import PROJECT

KINDS = ("slurm", "ray")
ALSO_OVER_SSH = pytest.mark.parametrize("far", ["slurm", "ssh", "ray"], indirect=True)
"""Mark of tests in which it matters whether the cluster shares this machine's disk."""
OVER_SSH = pytest.mark.parametrize("far", ["ssh"], indirect=True)
ON_SLURM = pytest.mark.parametrize("far", ["slurm", "ssh"], indirect=True)
HERE = pytest.mark.parametrize("far", ["slurm"], indirect=True)
HOUR = 3600.0
LONG = clusters.Timeouts(
    grace=60.0, beat=1.0, settle=HOUR, exit_record=HOUR, ambiguous=HOUR, gone=HOUR, beat_stale=HOUR, beat_lost=HOUR,
    never=HOUR, restart=0.0, records=HOUR, inventory=HOUR,
)  # fmt: skip


@dataclass
class Far:
    """The cluster `far`, its kind, and the fake behind it."""

    kind: str
    fake: Any

    @property
    def row(self) -> Cluster:
        """Return the cluster as it is now in the database."""
        return Cluster.objects.get(name="far")

    def configure(self, **config: Any) -> None:
        """Change the cluster's config."""
        Cluster.objects.filter(name="far").update(config={**self.row.config, **config})

    def tick(self, *runs: Run) -> list[Attempt]:
        """Tick once, and return the newest attempts of these runs."""
        assert reconcile.reconcile_cluster(self.row)
        return [attempt_of(run) for run in runs]

    def start(self, run: Run, **more: Any) -> Attempt:
        """Submit the run's newest attempt if it is not, let it start, and return it once esweb knows that it runs."""
        if attempt_of(run).state != "queued":
            tick_run(run)
        self.fake.start(attempt_of(run).key, **more)
        return tick_run(run)

    def directory(self, job: Job) -> Path:
        """Return the job's directory on the cluster."""
        return cluster_directory(job)


@contextmanager
def make_far(kind: str, disk: Path, patch: pytest.MonkeyPatch) -> Iterator[Far]:
    """Create the cluster of this kind; `disk` is the data folder of a remote machine."""
    read_code_once(patch)
    config: dict[str, Any] = {"waits": asdict(LONG)}
    if kind == "ray":
        ray = FakeRay()
        ray.up()
        Cluster.objects.create(name="far", kind="ray", config={**config, "dashboard": ray.address})
        yield Far(kind, ray)
        ray.down()
        return
    slurm = FakeSlurm()
    patch.setattr(executors, "LocalShell", lambda env: slurm)
    patch.setattr(executors, "OpenSsh", lambda connection, python, env: InProcessSsh(connection, python, env, slurm))
    if kind == "ssh":
        remote = {"address": "ssh://ada@far", "folder": str(disk), "python": sys.executable, "project": str(PROJECT)}
        config |= remote
    Cluster.objects.create(name="far", kind="slurm", config=config)
    yield Far(kind, slurm)
