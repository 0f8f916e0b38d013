"""Makes sure that what is left of an attempt writes no more, should it live on where nobody sees it."""

from __future__ import annotations

from runs.launch.places import place_of
from runs.models import Cluster, Job
from workers.attempt import CLOSED_EPOCH, raise_lease


def shut_out(*jobs: Job) -> None:
    """Whatever is left of them stops within a beat of the moment it sees this. Safe to repeat.

    Raises OSError, and Unreachable where a cluster that has a disk of its own does not answer.
    """
    closed: dict[Cluster, list[Job]] = {}
    for job in jobs:
        if job.cluster is not None and job.directory.exists():
            raise_lease(job.directory, CLOSED_EPOCH)
            closed.setdefault(job.cluster, []).append(job)
    for cluster, its in closed.items():
        place_of(cluster).send(job.directory / "lease.json" for job in its)
