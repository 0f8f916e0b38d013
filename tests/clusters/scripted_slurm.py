"""The tests' Slurm as a cluster in the database: small programs instead of the trainer, timeouts of seconds.

It is reached by this machine's own commands and disk, or over SSH; `cluster_directory` is a job's directory there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from runs import clusters, launching
from runs.launching import reconcile
from runs.launching.sweeps import commands
from runs.models import Attempt, Cluster, Experiment, Job, Run
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import STAYS_SECONDS, python
from workers.config import RunConfig, preset
from workers.executors.base import Spec
from workers.executors.shell import LocalShell, Reply
from workers.executors.slurm import Site, Slurm
from workers.executors.states import State
from workers.executors.submit_hosts import SharedDisk, SubmitHost

QUICK = clusters.Timeouts(
    grace=PATIENCE_SECONDS,
    beat=0.1,
    settle=15.0,
    exit_record=0.5,
    ambiguous=0.5,
    gone=1.0,
    beat_stale=PATIENCE_SECONDS,
    beat_lost=PATIENCE_SECONDS,
    restart=0.05,
    records=2.0,
)
OVER_SSH = pytest.mark.parametrize("access_config", ["ssh"], indirect=True)
"""Mark of tests in which the access to Slurm matters. The others use its commands on this machine."""
NOT_SUBMITTED = ("created", "submitting")
BUSY = f"import time; open('started', 'a').write('x'); time.sleep({STAYS_SECONDS})"


class RecordingShell(LocalShell):
    """The local shell, which records every command in `recorded_commands`."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command."""
        recorded_commands.append(list(argv))
        return super().run(argv, timeout_seconds, text)


recorded_commands: list[list[str]] = []
"""Every command since the list was last cleared."""


class ScriptedSlurm(Slurm):
    """The Slurm executor, with one small program for every job. `before_submit` and `after_submit` may raise."""

    before_submit: Callable[[], None] = staticmethod(lambda: None)
    after_submit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, conf: Path, root: Path, host: SubmitHost | None = None, **site: Any) -> None:
        recorded_commands.clear()
        local_host = SharedDisk(RecordingShell({"SLURM_CONF": str(conf)}))
        super().__init__(Site(**site), root, beat_seconds=QUICK.beat, host=host or local_host)
        self.program, self.submitted = "pass", list[str]()

    def submit(self, spec: Spec) -> str:
        """Submit the small program."""
        self.submitted.append(spec.key)
        self.before_submit()
        native_id = super().submit(replace(spec, argv=tuple(python(self.program))))
        self.after_submit()
        return native_id

    def submit_together(self, specs: Sequence[Spec]) -> dict[str, str]:
        """Submit the small program once for each spec."""
        self.submitted += [spec.key for spec in specs]
        self.before_submit()
        numbers = super().submit_together([replace(spec, argv=tuple(python(self.program))) for spec in specs])
        self.after_submit()
        return numbers


def impatient_host(slurm: SlurmCluster) -> SharedDisk:
    """Return a host whose commands wait one second for a controller: for a test that has made it silent."""
    return SharedDisk(RecordingShell({"SLURM_CONF": str(slurm.impatient_conf)}))


def cluster_directory(job: Job) -> Path:
    """Return the job's directory on its cluster, which is on this machine too."""
    return Path(clusters.submit_host_of(job.cluster).cluster_path(job.directory))


def make_slurm_cluster(name: str = "far", **options: Any) -> Cluster:
    """Create or update the row of the cluster, with short timeouts."""
    config = {"waits": asdict(QUICK), **options}
    return Cluster.objects.update_or_create(name=name, defaults={"kind": "slurm", "config": config})[0]


def set_timeouts(**timeouts: float) -> None:
    """Change timeouts of the cluster `far`, in seconds."""
    cluster = Cluster.objects.get(name="far")
    cluster.config["waits"] |= timeouts
    cluster.save()


def launch_run(experiment: Experiment, **compute: Any) -> Run:
    """Create a run on the cluster `far`, as a form or the API would."""
    config = {**preset("es-micro").config, "compute": {"cluster": "far", **compute}}
    return launching.create_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), name="far away"
    )


def launch_sweep(experiment: Experiment, seeds: int, **compute: Any) -> list[Run]:
    """Create a sweep of so many concurrent runs on the cluster `far` and return its runs."""
    base = {**preset("es-micro").config, "compute": {"cluster": "far", **compute}}
    new_sweep = commands.NewSweep(base, list(range(seeds)), grid={"es.sigma": [0.01]}, at_once=seeds)
    return list(commands.launch_sweep(new_sweep, experiment, experiment.owner).runs.order_by("pk"))


def tick_run(run: Run) -> Attempt:
    """Tick once and return the newest attempt."""
    attempt = attempt_of(run)
    assert reconcile.reconcile_cluster(attempt.cluster)
    return attempt_of(run)


def wait_until_started(run: Run) -> Attempt:
    """Return the newest attempt once it runs and its program has started. There is no tick while the program starts."""
    attempt = tick_until_true(
        run, "the cluster to take the job", lambda a: a.state not in NOT_SUBMITTED and not State(a.state).is_final
    )
    wait_until((cluster_directory(attempt) / "started").exists, "the program to start")
    return tick_until(run, "running")


def wait_until_ended(run: Run, *states: str) -> Attempt:
    """Return the newest attempt once it is in one of these states. There is no tick until the exit record exists."""
    attempt = tick_until_true(run, "the cluster to take the job", lambda a: a.state not in NOT_SUBMITTED)
    wait_until((cluster_directory(attempt) / "exit.json").exists, "the program to end")
    return tick_until(run, *states)
