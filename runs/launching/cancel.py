"""Cancels: the wish is committed first, and repeated by every tick until the attempt has ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs.clusters import executor_for, waits_of
from runs.launching.create import forget_moves
from runs.launching.resume import call_off_restart
from runs.launching.transitions import mark, move
from runs.models import Attempt, Job, Run
from workers.executors.base import Unreachable
from workers.executors.slurm import Slurm
from workers.executors.states import State

log = logging.getLogger(__name__)

KILL_SECONDS = 5.0
"""The agent kills its program when the grace is over; so much later the executor kills them both."""
HAS_A_PLACE = (State.STARTING.value, State.RUNNING.value, State.PAUSED.value, State.STOPPING.value)


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


def cancel_job(*jobs: Job) -> bool:
    """Asks the cluster of these jobs to end them, where that is wished and still needed. Safe to repeat.

    Those that wait come first: they would start in the place of those that stop. False where the cluster did not
    answer.
    """
    wished = [job for job in jobs if job.cancel_requested_at is not None and not State(job.state).is_final]
    wished.sort(key=lambda job: job.state in HAS_A_PLACE)
    try:
        _cancel(wished)
    except Unreachable as error:
        for job in wished:
            mark(job, reason=f"to be cancelled as soon as {job.cluster} answers: {error}")
        return False
    return True


def _cancel(jobs: Sequence[Job]) -> None:
    """Raises Unreachable."""
    if not jobs:
        return
    cluster, keys = jobs[0].cluster, [job.key for job in jobs]
    executor, grace_seconds = executor_for(cluster), waits_of(cluster).grace + KILL_SECONDS
    if isinstance(executor, Slurm):
        executor.cancel_together(keys, grace_seconds)
    else:
        for key in keys:
            executor.cancel(key, grace_seconds)
