"""Celery tasks of the whole site: the tick, which runs every few seconds and queues the jobs that have work."""

from __future__ import annotations

import time

from celery import current_app, shared_task
from django.conf import settings

from judging.models import Assignment
from runs.models import Attempt, Cluster, ClusterTest, Rebuild, Scoring, ServerFolder

WAITING_JOBS = {
    "runs.jobs.import_server_folders": ServerFolder.objects.due(),
    "runs.jobs.score_answers": Scoring.objects.filter(state=Scoring.State.GOING),
    "judging.jobs.ask_judges": Assignment.objects.filter(state=Assignment.State.RUNNING),
}
"""The jobs that continue what somebody has started, with the rows that they continue."""
TICK_CLUSTER = "runs.jobs.tick_cluster"
IDLE_TICK_SECONDS = 10
"""This machine is ticked so often if it has nothing to do. A tick makes 14 queries, to learn just that."""


@shared_task(name="esweb.jobs.tick")  # type: ignore[untyped-decorator]
def tick() -> None:
    """Queue the waiting jobs, tick every cluster elsewhere in a task of its own, and tick this machine.

    One message does all of this on a site where nothing happens, because messages are most of what such a site costs.
    """
    queue_waiting_jobs()
    clusters = list(Cluster.objects.values_list("pk", "kind"))
    for pk, kind in clusters:
        if kind != "local":
            current_app.send_task(TICK_CLUSTER, (pk,), expires=2 * settings.TICK_SECONDS)
    for pk, kind in clusters:
        if kind == "local" and (_has_open_jobs(pk) or _is_occasional_tick()):
            current_app.tasks[TICK_CLUSTER](pk)


@shared_task(name="esweb.jobs.queue_waiting_jobs")  # type: ignore[untyped-decorator]
def queue_waiting_jobs() -> None:
    """Queue the jobs that continue what somebody has started, if there is something to continue."""
    for name, rows in WAITING_JOBS.items():
        if rows.all().exists():
            current_app.send_task(name, expires=2 * settings.WAITING_JOBS_SECONDS)


def _has_open_jobs(cluster_id: int) -> bool:
    """Return whether a tick of this cluster may have something to do, now or soon. Each query reads a short index."""
    attempts = Attempt.objects.filter(cluster=cluster_id)
    rows = (
        attempts.open(),
        attempts.filter(restart_at__isnull=False),
        attempts.filter(moves_to__isnull=False),
        Rebuild.objects.open().filter(cluster=cluster_id),
        ClusterTest.objects.filter(cluster=cluster_id, ended_at__isnull=True),
    )
    return any(some.exists() for some in rows)


def _is_occasional_tick() -> bool:
    """Return whether this tick is the one of its time, by the clock that all processes of the machine share."""
    return time.monotonic() % max(IDLE_TICK_SECONDS, settings.TICK_SECONDS) < settings.TICK_SECONDS
