"""Cancels: the wish is committed first, and repeated by every tick until the attempt has ended."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs.launch.changes import mark, move
from runs.launch.clusters import executor_for, waits_of
from runs.launch.creating import forget_moves
from runs.launch.restarting import call_off_restart
from runs.models import Attempt, Job, Run
from workers.executors.base import Unreachable
from workers.executors.states import State

log = logging.getLogger(__name__)

KILL_SECONDS = 5.0
"""The agent kills its program when the grace is over; so much later the executor kills them both."""


def request_cancel(run: Run, person: User | None = None) -> Attempt | None:
    """Notes that the run shall end, and not start again. Returns the attempt to cancel, None where none is open."""
    if call_off_restart(run, person):
        return None
    forget_moves(run)
    attempt = run.attempts.open().order_by("-n").first()
    if attempt is None:
        return None
    wish_to_end(attempt, person)
    return attempt


def wish_to_end(job: Job, person: User | None = None) -> None:
    """Notes that a job shall end; one that has not been submitted has ended with that."""
    with transaction.atomic():
        if job.cancel_requested_at is None and mark(job, cancel_requested_at=timezone.now()):
            job.note("cancel asked for" + (f" by {person.get_username()}" if person else ""))
    if job.state == State.CREATED.value:
        move(job, State.CANCELLED, "cancelled before it was submitted")


def end_what_is_left(job: Job) -> None:
    """Asks a cluster that goes on calling a lost job running to end it. It is shut out in any case, so one try is
    enough."""
    try:
        executor_for(job.cluster).cancel(job.key, 0.0)
    except Unreachable as error:
        log.warning("%s cannot be asked to end %s, which is shut out: %s", job.cluster, job.key, error)


def cancel(job: Job) -> bool:
    """Asks the cluster to end the job, where that is wished and still needed. Safe to repeat.

    False where the cluster did not answer.
    """
    if job.cancel_requested_at is None or State(job.state).is_final:
        return True
    try:
        executor_for(job.cluster).cancel(job.key, waits_of(job.cluster).grace + KILL_SECONDS)
    except Unreachable as error:
        mark(job, reason=f"to be cancelled as soon as {job.cluster} answers: {error}")
        return False
    return True
