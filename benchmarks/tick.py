"""Measure the seconds of a tick over 500 attempts that wait on a real Slurm, and of the squeue call that it makes.

    python -m benchmarks.tick

Three nodes on this machine, all drained, so that nothing starts; the bundled PostgreSQL. The first tick, which stores
the reason why each attempt waits, is not counted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import results, servers
from tests.clusters.slurm import SlurmCluster, missing

GOAL_SECONDS = 1.0
WAITING, ROUNDS = 500, 9
FIGURE = f"a tick over {WAITING} waiting attempts"


def queue(slurm: SlurmCluster) -> None:
    """Create attempts that wait on a cluster of the site, each with its job."""
    from runs.models import Attempt, Cluster, Run, key_of

    experiment = servers.experiment()
    cluster = Cluster.objects.create(name="far", kind="slurm", config={"slurm_conf": str(slurm.conf)})
    config = {"method": "es", "compute": {"cluster": "far"}}
    runs = Run.objects.bulk_create(
        Run(experiment=experiment, name=f"run {n}", method="es", seed=n, config=config, created_by=experiment.owner)
        for n in range(WAITING)
    )
    Attempt.objects.bulk_create(Attempt(run=r, n=1, key=key_of(r, 1), cluster=cluster, state="queued") for r in runs)
    for run in runs:
        slurm.ask("sbatch", f"--job-name={key_of(run, 1)}", "--output=/dev/null", "--wrap=true")


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(slurm: SlurmCluster) -> tuple[float, float]:
    """Return the medians of a tick and of a bare squeue, in turns. Raise AssertionError if a tick forgets an
    attempt."""
    from runs.launching import reconcile
    from runs.models import Attempt, Cluster

    cluster = Cluster.objects.get(name="far")
    reconcile.reconcile_cluster(cluster)
    took = [
        (
            seconds(lambda: reconcile.reconcile_cluster(cluster)),
            seconds(lambda: slurm.ask("squeue", "-h", "-r", "-t", "all")),
        )
        for _ in range(ROUNDS)
    ]
    waiting = Attempt.objects.filter(cluster=cluster, native_state="PENDING", reason__startswith="waiting: ").count()
    if waiting != WAITING:
        raise AssertionError(f"{waiting} of {WAITING} attempts wait and say why")
    ticks, squeues = zip(*took, strict=True)
    return statistics.median(ticks), statistics.median(squeues)


def main() -> int:
    """Measure, record, and return the exit code."""
    if reason := missing():
        results.not_measured(FIGURE, reason)
        return results.exit_code()
    slurm = SlurmCluster(Path(tempfile.mkdtemp(prefix="esweb-slurm-")))
    try:
        slurm.up()
        slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=benchmark")
        with servers.site():
            queue(slurm)
            tick, squeue = measure(slurm)
    finally:
        slurm.down()
    results.at_most(FIGURE, 1000 * tick, 1000 * GOAL_SECONDS, "ms")
    results.without_goal("the same beside squeue alone", 1000 * tick, "ms", ratio=tick / squeue, peer="squeue")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
