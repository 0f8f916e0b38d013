"""Change a job's state by compare-and-set, record the event, update its run, and notify open pages. No other module
changes it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from runs import access, flags
from runs.metrics import live
from runs.models import Job, Run
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
STATES_WITHOUT_REASON = (State.STARTING, State.RUNNING)
VISIBLE_FIELDS = ("reason", "native_state", "cancel_requested_at", "progress")
"""Fields of a job that pages display."""


def transition(job: Job, to: State, reason: str, **facts: Any) -> bool:
    """Set the job's state. Return False, with nothing changed, if its state has changed since it was read.

    `reason` is stored if the state needs one; `facts` are other fields, set in the same update.
    """
    now, before = timezone.now(), job.state
    facts |= {"state": to.value, "reason": "" if to in STATES_WITHOUT_REASON else reason}
    if to == State.RUNNING and job.started_at is None:
        facts.setdefault("started_at", now)
    if to.is_final:
        facts.setdefault("ended_at", now)
    with transaction.atomic():
        # Its sweep may have been paused since it was read.
        rows = rows_of(job).filter(job.released if to == State.SUBMITTING else Q(), state=before)
        if not rows.update(**facts):
            return False
        job.note(reason, LEVELS.get(to, "info"), before, to)
        if job.sets_run_state:
            Run.objects.filter(pk=job.run_id).update(state=to.value)
        if to.is_final and job.executes_run:
            access.end_run_tokens(job.run, job.key)
            flags.mark_ended(job.run)
        publish(job)
    _remember(job, facts)
    return True


def update_facts(job: Job, **facts: Any) -> bool:
    """Store facts about a job that stays in its state. Return False if its state has changed, or nothing is new."""
    new = {name: value for name, value in facts.items() if getattr(job, name) != value}
    if not new or not rows_of(job).filter(state=job.state).update(**new):
        return False
    if new.keys() & set(VISIBLE_FIELDS):
        publish(job)
    _remember(job, new)
    return True


def begun_at(at: datetime | None, now: datetime) -> datetime:
    """Return when a condition began: `at`, or `now` if it begins now or the clock was set back to before `at`."""
    return at if at is not None and at <= now else now


def rows_of(job: Job) -> QuerySet[Job]:
    """Return the query for the job's row."""
    return type(job)._default_manager.filter(pk=job.pk)


def publish(job: Job) -> None:
    """Notify open pages of the job's run after the commit, so that they fetch its parts again."""
    transaction.on_commit(partial(live.publish_changed, job.run.uid, job.published_change))


def _remember(job: Job, facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        setattr(job, name, value)
