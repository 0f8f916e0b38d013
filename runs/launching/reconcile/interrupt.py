"""Interrupt the runs of this machine when esweb stops: they save a checkpoint, end, and can be resumed."""

from __future__ import annotations

from collections.abc import Callable

from django.db import DatabaseError

from runs.clusters import executor_for
from runs.launching.reconcile.tick import open_jobs, settle
from runs.models import Cluster
from workers.executors.base import Unreachable
from workers.executors.local import Local

GRACE_SECONDS = 30.0


def interrupt_local(grace_seconds: float) -> list[str]:
    """End local attempts as INTERRUPTED, after a checkpoint if the grace period allows it; return their keys.

    Waiting attempts remain in the queue and start when esweb does. Call it when no worker ticks any more: a tick would
    start them immediately.
    """
    stopped: list[str] = []
    for cluster in Cluster.objects.filter(kind="local"):
        executor = executor_for(cluster)
        if isinstance(executor, Local):
            stopped += executor.interrupt(grace_seconds)
            jobs = open_jobs(cluster)
            settle(jobs, {job.key: executor.find(job.key) for job in jobs}, executor.trust_running)
    return stopped


def interrupt_and_report(report: Callable[[str], None]) -> None:
    """Interrupt the runs of this machine, wait for them, and report which. Waiting runs remain in the queue."""
    try:
        if stopped := interrupt_local(GRACE_SECONDS):
            report(f"stopped on this machine, to be resumed: {', '.join(stopped)}")
    except (DatabaseError, Unreachable) as error:
        report(f"runs on this machine were left alone: {error}")
