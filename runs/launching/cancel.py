"""Cancel jobs: the request is committed first, and repeated by every tick until the attempt has ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs.clusters import executor_for, timeouts_of
from runs.launching.create import clear_moves
from runs.launching.resume import call_off_restart
from runs.launching.transitions import transition, update_facts
from runs.models import Attempt, Job, Run
from workers.executors.base import Unreachable
from workers.executors.slurm import Slurm
from workers.executors.states import State

log = logging.getLogger(__name__)

KILL_SECONDS = 5.0
"""Seconds after the grace period. The agent kills its program at the end of the grace; then the executor kills both."""
ON_CLUSTER = (State.STARTING.value, State.RUNNING.value, State.PAUSED.value, State.STOPPING.value)


def cancel_refusal(run: Run) -> str:
    """Return why the run cannot be cancelled here; an empty text if it can, or if it has ended."""
    if not (run.is_open and run.kind.cancel_refusal):
        return ""
    return gettext(run.kind.cancel_refusal) % {"name": run.name}


def request_cancel(run: Run, person: User | None = None) -> Attempt | None:
    """Record that the run must end and not restart. Return the attempt to cancel; None if none is open, and for an
    external run, whose program only its own machine can stop."""
    if run.kind.cancel_refusal or call_off_restart(run, person):
        return None
    is_moving = clear_moves(run)
    attempt = run.attempts.open().order_by("-n").first()
    if attempt is None:
        if is_moving:
            # An undo of the cancel resumes the run, which was between two attempts.
            run.attempts.filter(cancel_requested_at=None).update(cancel_requested_at=timezone.now())
        return None
    request_end(attempt, person)
    return attempt


def request_end(job: Job, person: User | None = None) -> None:
    """Record that a job must end; a job that was not submitted ends immediately."""
    with transaction.atomic():
        if job.cancel_requested_at is None and update_facts(job, cancel_requested_at=timezone.now()):
            job.note("cancel requested" + (f" by {person.get_username()}" if person else ""))
    if job.state == State.CREATED.value:
        transition(job, State.CANCELLED, "cancelled before it was submitted")


def end_leftover_job(job: Job) -> None:
    """Request the end of a lost job that its cluster still reports as running. The job is fenced in any case, so one
    try is enough."""
    try:
        executor_for(job.cluster).cancel(job.key, 0.0)
    except Unreachable as error:
        log.warning(
            "Cluster %s is unreachable; the fenced job %s is not cancelled there: %s", job.cluster, job.key, error
        )


def cancel_job(*jobs: Job) -> bool:
    """Cancel those of the jobs on their cluster whose end was requested and that have not ended. Safe to repeat.

    Waiting jobs come first: they would otherwise start on the resources of the jobs that stop. Return False if the
    cluster did not reply.
    """
    requested = [job for job in jobs if job.cancel_requested_at is not None and not State(job.state).is_final]
    requested.sort(key=lambda job: job.state in ON_CLUSTER)
    try:
        _cancel(requested)
    except Unreachable as error:
        for job in requested:
            update_facts(job, reason=f"to be cancelled as soon as {job.cluster} is reachable: {error}")
        return False
    return True


def withdraw_jobs(*jobs: Job) -> bool:
    """Remove from their cluster's queue those of the jobs that must leave it; one that has begun continues. Safe to
    repeat. Return False if the cluster did not reply."""
    withdrawn = [job for job in jobs if job.is_withdrawn and job.state == State.QUEUED.value]
    try:
        if withdrawn:
            executor_for(withdrawn[0].cluster).withdraw([job.key for job in withdrawn])
    except Unreachable as error:
        for job in withdrawn:
            update_facts(job, reason=f"to leave the queue as soon as {job.cluster} is reachable: {error}")
        return False
    return True


def _cancel(jobs: Sequence[Job]) -> None:
    """Cancel the jobs on their cluster. Raise Unreachable."""
    if not jobs:
        return
    cluster, keys = jobs[0].cluster, [job.key for job in jobs]
    executor, grace_seconds = executor_for(cluster), timeouts_of(cluster).grace + KILL_SECONDS
    if isinstance(executor, Slurm):
        executor.cancel_together(keys, grace_seconds)
    else:
        for key in keys:
            executor.cancel(key, grace_seconds)
