"""Cancels: the wish is committed first, and repeated by every tick until the attempt has ended."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs.launch.changes import mark, move
from runs.launch.clusters import executor_for, waits_of
from runs.models import Attempt, AttemptEvent, Run
from workers.executors.base import Unreachable
from workers.executors.states import State

KILL_SECONDS = 5.0
"""The agent kills its program when the grace is over; so much later the executor kills them both."""


def request_cancel(run: Run, person: User | None = None) -> Attempt | None:
    """Notes that the run shall end. Returns the attempt to cancel, or None where nothing of it is open."""
    attempt = run.attempts.open().order_by("-n").first()
    if attempt is None:
        return None
    with transaction.atomic():
        if attempt.cancel_requested_at is None and mark(attempt, cancel_requested_at=timezone.now()):
            who = f" by {person.get_username()}" if person else ""
            AttemptEvent.objects.create(attempt=attempt, why=f"cancel asked for{who}")
    if attempt.state == State.CREATED.value:
        move(attempt, State.CANCELLED, "cancelled before it was submitted")
    return attempt


def cancel(attempt: Attempt) -> None:
    """Asks the cluster to end the attempt, where that is wished and still needed. Safe to repeat."""
    if attempt.cancel_requested_at is None or State(attempt.state).is_final:
        return
    try:
        executor_for(attempt.cluster).cancel(attempt.key, waits_of(attempt.cluster).grace + KILL_SECONDS)
    except Unreachable as error:
        mark(attempt, reason=f"to be cancelled as soon as {attempt.cluster} answers: {error}")
