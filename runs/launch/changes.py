"""The one place where an attempt's state changes: compare-and-set, with an event, the run in step, open pages told."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from runs import live
from runs.models import Attempt, AttemptEvent, Run
from workers.executors.states import State

LEVELS = {
    State.FAILED: "error",
    State.OOM: "error",
    State.LOST: "error",
    State.NODE_LOST: "warning",
    State.TIMEOUT: "warning",
    State.PREEMPTED: "warning",
    State.INTERRUPTED: "warning",
}
SPEAKS_FOR_ITSELF = (State.STARTING, State.RUNNING)


def move(attempt: Attempt, to: State, why: str, **facts: Any) -> bool:
    """Brings the attempt into a state. False, and nothing changed, where somebody else has moved it since it was read.

    `why` is kept as the reason where a state needs one; `facts` are other fields, set in the same update.
    """
    now, before = timezone.now(), attempt.state
    facts |= {"state": to.value, "reason": "" if to in SPEAKS_FOR_ITSELF else why}
    if to == State.RUNNING and attempt.started_at is None:
        facts.setdefault("started_at", now)
    if to.is_final:
        facts.setdefault("ended_at", now)
    with transaction.atomic():
        if not Attempt.objects.filter(pk=attempt.pk, state=before).update(**facts):
            return False
        level = LEVELS.get(to, "info")
        AttemptEvent.objects.create(attempt=attempt, from_state=before, to_state=to.value, why=why, level=level)
        _keep_run_in_step(attempt, to)
        _tell(attempt)
    _remember(attempt, facts)
    return True


def mark(attempt: Attempt, **facts: Any) -> bool:
    """Notes what is known about an attempt that stays in its state; False where it has left it, or nothing is new."""
    new = {name: value for name, value in facts.items() if getattr(attempt, name) != value}
    if not new or not Attempt.objects.filter(pk=attempt.pk, state=attempt.state).update(**new):
        return False
    if new.keys() & {"reason", "native_state", "cancel_requested_at"}:
        _tell(attempt)
    _remember(attempt, new)
    return True


def since(at: datetime | None, now: datetime) -> datetime:
    """When something began: then, or now where it begins now or the clock was set back behind it."""
    return at if at is not None and at <= now else now


def _keep_run_in_step(attempt: Attempt, to: State) -> None:
    is_newest = not Attempt.objects.filter(run_id=attempt.run_id, n__gt=attempt.n).exists()
    if is_newest:
        Run.objects.filter(pk=attempt.run_id).update(state=to.value)


def _tell(attempt: Attempt) -> None:
    transaction.on_commit(partial(live.publish_changed, attempt.run.uid, "state"))


def _remember(attempt: Attempt, facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        setattr(attempt, name, value)
