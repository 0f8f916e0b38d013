"""Interrupt the runs of this machine when esweb stops: they save a checkpoint and end. The next start resumes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import DatabaseError

from runs.clusters import executor_for
from runs.launching.reconcile.tick import open_jobs, settle
from runs.models import Attempt, Cluster
from workers.executors.base import Unreachable
from workers.executors.local import SITE_STOPPED, Local
from workers.executors.states import State

GRACE_SECONDS = 30.0


def interrupt_local(grace_seconds: float, cause: str = "") -> list[str]:
    """End local attempts as INTERRUPTED, after a checkpoint if the grace period allows it; return the keys of all
    stopped jobs.

    Attempts that were done, had failed or had been cancelled end so. Waiting attempts remain in the queue and start
    when esweb does. `cause` names what stops esweb. Call it when no worker ticks any more: a tick would start them
    immediately.
    """
    stopped: list[str] = []
    for cluster in Cluster.objects.filter(kind="local"):
        executor = executor_for(cluster)
        if isinstance(executor, Local):
            stopped += executor.interrupt(grace_seconds, f"{SITE_STOPPED} by {cause}" if cause else SITE_STOPPED)
            observed = [(job, seen) for job in open_jobs(cluster) if (seen := executor.find(job.key)) is not None]
            # A submit that the stop cut short may not have reached the queue: its absence says nothing.
            settle([job for job, _ in observed], {job.key: seen for job, seen in observed}, executor.trust_running)
    return stopped


def interrupt_and_report(report: Callable[[str], None], cause: str = "") -> None:
    """Interrupt the runs of this machine, wait for them, and report which. Waiting runs remain in the queue."""
    try:
        if stopped := interrupt_local(GRACE_SECONDS, cause):
            for line in _describe(stopped):
                report(line)
    except (DatabaseError, Unreachable) as error:
        report(f"the ends of runs on this machine are not stored yet; the next start reads them: {error}")


def _describe(keys: Sequence[str]) -> list[str]:
    """Return a line about the stopped runs that the next start resumes, and one about the other jobs that ended."""
    resumed = Attempt.objects.filter(key__in=keys, state=State.INTERRUPTED.value, restart_at__isnull=False)
    interrupted = sorted(resumed.values_list("key", flat=True))
    others = sorted(set(keys).difference(interrupted))
    is_on = settings.RESUME_AFTER_STOP
    plan = "the next start resumes them" if is_on else "ESWEB_RESUME_AFTER_STOP is 0, so resume them on their pages"
    return [
        *([f"stopped on this machine; {plan}: {', '.join(interrupted)}"] if interrupted else []),
        *([f"ended on this machine: {', '.join(others)}"] if others else []),
    ]
