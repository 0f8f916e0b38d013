"""Jobs on a cluster that bear our names and that nobody here waits for, as after a database was restored.

They are shown and never ended by themselves: another installation may share the account.
"""

from __future__ import annotations

from runs.clusters.executors import executor_for
from runs.models import Attempt, Cluster, ClusterTest, Rebuild
from workers.executors.base import Observation
from workers.executors.slurm import Slurm
from workers.executors.states import State

PREFIX = "esweb-"


def orphans(cluster: Cluster) -> dict[str, Observation]:
    """Key -> job that waits or runs. None on clusters whose queue is our own. Raises Unreachable."""
    executor = executor_for(cluster)
    if not isinstance(executor, Slurm):
        return {}
    found = executor.open_jobs(PREFIX)
    known = {job.key for kind in (Attempt, Rebuild) for job in kind.objects.open().filter(key__in=found)}
    known |= {f"{PREFIX}test{pk}-t" for pk in ClusterTest.objects.filter(cluster=cluster).values_list("pk", flat=True)}
    # One that is ending has just been cancelled, or its attempt has been told so.
    return {key: job for key, job in found.items() if key not in known and job.state != State.STOPPING}


def end_orphan(cluster: Cluster, key: str) -> bool:
    """Cancels one of them; False where there is none of that name. Raises Unreachable."""
    if key not in orphans(cluster):
        return False
    executor_for(cluster).cancel(key, 0.0)
    return True


def in_words(found: dict[str, Observation]) -> str:
    """For a person: which, and how each stands."""
    return ", ".join(f"{key} (job {job.native_id}, {job.native})" for key, job in sorted(found.items()))
