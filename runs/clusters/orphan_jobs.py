"""Find orphan jobs: jobs on a cluster with esweb's names that this site does not know, as after a database restore.

They are displayed and never ended automatically, because another installation may share the account.
"""

from __future__ import annotations

from runs.clusters.executors import executor_for
from runs.models import Attempt, Cluster, ClusterTest, Rebuild
from workers.executors.base import Observation
from workers.executors.slurm import Slurm
from workers.executors.states import State

PREFIX = "esweb-"


def find_orphans(cluster: Cluster) -> dict[str, Observation]:
    """Return key -> orphan job that waits or runs. Empty on clusters with our own queue. Raise Unreachable."""
    executor = executor_for(cluster)
    if not isinstance(executor, Slurm):
        return {}
    open_jobs = executor.open_jobs(PREFIX)
    known_keys = {job.key for kind in (Attempt, Rebuild) for job in kind.objects.open().filter(key__in=open_jobs)}
    known_keys |= {
        f"{PREFIX}test{pk}-t" for pk in ClusterTest.objects.filter(cluster=cluster).values_list("pk", flat=True)
    }
    # A job that is ending was just cancelled, or its attempt was just closed.
    return {key: job for key, job in open_jobs.items() if key not in known_keys and job.state != State.STOPPING}


def end_orphan(cluster: Cluster, key: str) -> bool:
    """Cancel the orphan job with this key. Return False if there is none. Raise Unreachable."""
    if key not in find_orphans(cluster):
        return False
    executor_for(cluster).cancel(key, 0.0)
    return True


def describe_jobs(jobs: dict[str, Observation]) -> str:
    """Return the jobs' keys with their native ids and states as text."""
    return ", ".join(f"{key} (job {job.native_id}, {job.native})" for key, job in sorted(jobs.items()))
