"""Stops what runs on this machine because esweb itself stops."""

from __future__ import annotations

from runs.clusters import executor_for
from runs.launching.reconcile.tick import open_jobs, settle
from runs.models import Cluster
from workers.executors.local import Local


def interrupt_local(grace_seconds: float) -> list[str]:
    """Ends local attempts as INTERRUPTED, after a checkpoint where the grace allows; returns their keys.

    Attempts that wait stay in line and start when esweb does. Call it when no worker ticks any more: a tick would start
    them at once.
    """
    stopped: list[str] = []
    for cluster in Cluster.objects.filter(kind="local"):
        executor = executor_for(cluster)
        if isinstance(executor, Local):
            stopped += executor.interrupt(grace_seconds)
            jobs = open_jobs(cluster)
            settle(jobs, {job.key: executor.find(job.key) for job in jobs}, executor.trust_running)
    return stopped
