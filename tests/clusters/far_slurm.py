"""A Slurm of our own as a cluster in the database: small programs in the trainer's place, patience of seconds.

It is reached by this machine's own commands and disk, or over SSH, where `there` is a job's directory on its side.
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
from workers.config import preset
from workers.executors.base import Spec
from workers.executors.places import Place, SharedDisk
from workers.executors.shell import Answer, LocalShell
from workers.executors.slurm import Site, Slurm
from workers.executors.states import State

QUICK = clusters.Waits(
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
OVER_SSH = pytest.mark.parametrize("reached", ["ssh"], indirect=True)
"""For tests in which the way to Slurm matters. The others use its commands on this machine."""
NOT_TAKEN = ("created", "submitting")
BUSY = f"import time; open('started', 'a').write('x'); time.sleep({STAYS_SECONDS})"


class Counting(LocalShell):
    """The local shell, which remembers what was asked of it."""

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Answer:
        """Runs it."""
        asked.append(list(argv))
        return super().run(argv, timeout_seconds, text)


asked: list[list[str]] = []
"""Every command since it was last cleared."""


class Far(Slurm):
    """The Slurm executor, with one small program for every job. `before_submit` and `after_submit` may die."""

    before_submit: Callable[[], None] = staticmethod(lambda: None)
    after_submit: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, conf: Path, root: Path, place: Place | None = None, **site: Any) -> None:
        asked.clear()
        here = SharedDisk(Counting({"SLURM_CONF": str(conf)}))
        super().__init__(Site(**site), root, beat_seconds=QUICK.beat, place=place or here)
        self.program, self.submitted = "pass", list[str]()

    def submit(self, spec: Spec) -> str:
        """Submits the small program."""
        self.submitted.append(spec.key)
        self.before_submit()
        native_id = super().submit(replace(spec, argv=tuple(python(self.program))))
        self.after_submit()
        return native_id

    def submit_together(self, specs: Sequence[Spec]) -> dict[str, str]:
        """Submits the small program as often."""
        self.submitted += [spec.key for spec in specs]
        self.before_submit()
        numbers = super().submit_together([replace(spec, argv=tuple(python(self.program))) for spec in specs])
        self.after_submit()
        return numbers


def impatient(slurm: SlurmCluster) -> SharedDisk:
    """Return a place whose commands wait a second for a controller: for a test that has made it silent."""
    return SharedDisk(Counting({"SLURM_CONF": str(slurm.impatient_conf)}))


def there(job: Job) -> Path:
    """The job's directory on its cluster, which is on this machine after all."""
    return Path(clusters.place_of(job.cluster).there(job.directory))


def cluster_of(name: str = "far", **more: Any) -> Cluster:
    """Its row, quick."""
    config = {"waits": asdict(QUICK), **more}
    return Cluster.objects.update_or_create(name=name, defaults={"kind": "slurm", "config": config})[0]


def be_patient(**waits: float) -> None:
    """From now on the cluster `far` is waited for so many seconds instead."""
    cluster = Cluster.objects.get(name="far")
    cluster.config["waits"] |= waits
    cluster.save()


def run_far(experiment: Experiment, **compute: Any) -> Run:
    """A run for it, as a form or the API would make one."""
    config = {**preset("es-micro").config, "compute": {"cluster": "far", **compute}}
    return launching.create_run(experiment=experiment, person=experiment.owner, config=config, name="far away")


def sweep_far(experiment: Experiment, seeds: int, **compute: Any) -> list[Run]:
    """A sweep for it of so many runs, all of which may be there at once."""
    base = {**preset("es-micro").config, "compute": {"cluster": "far", **compute}}
    new = commands.NewSweep(base, list(range(seeds)), grid={"es.sigma": [0.01]}, at_once=seeds)
    return list(commands.launch_sweep(new, experiment, experiment.owner).runs.order_by("pk"))


def tick_far(run: Run) -> Attempt:
    """One tick, then the newest attempt."""
    attempt = attempt_of(run)
    assert reconcile.reconcile_cluster(attempt.cluster)
    return attempt_of(run)


def started(run: Run) -> Attempt:
    """Return the newest attempt once it runs and its program has begun. Waiting for the program takes no tick."""
    attempt = tick_until_true(
        run, "the cluster to take the job", lambda a: a.state not in NOT_TAKEN and not State(a.state).is_final
    )
    wait_until((there(attempt) / "started").exists, "the program to start")
    return tick_until(run, "running")


def await_end(run: Run, *states: str) -> Attempt:
    """Return the newest attempt once it is in one of these states. Waiting for its exit record takes no tick."""
    attempt = tick_until_true(run, "the cluster to take the job", lambda a: a.state not in NOT_TAKEN)
    wait_until((there(attempt) / "exit.json").exists, "the program to end")
    return tick_until(run, *states)
