"""The one place where a job's state changes: compare-and-set, with its story, the run in step, open pages told."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from runs import access
from runs.metrics import live
from runs.models import Attempt, Job, Run
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
SEEN = ("reason", "native_state", "cancel_requested_at", "progress")
"""What a page shows of a job."""


def move(job: Job, to: State, why: str, **facts: Any) -> bool:
    """Brings the job into a state. False, and nothing changed, where somebody else has moved it since it was read.

    `why` is kept as the reason where a state needs one; `facts` are other fields, set in the same update.
    """
    now, before = timezone.now(), job.state
    facts |= {"state": to.value, "reason": "" if to in SPEAKS_FOR_ITSELF else why}
    if to == State.RUNNING and job.started_at is None:
        facts.setdefault("started_at", now)
    if to.is_final:
        facts.setdefault("ended_at", now)
    with transaction.atomic():
        if not _rows(job).filter(state=before).update(**facts):
            return False
        job.note(why, LEVELS.get(to, "info"), before, to)
        if job.speaks_for_run:
            Run.objects.filter(pk=job.run_id).update(state=to.value)
        if to.is_final and isinstance(job, Attempt):
            access.end_run_tokens(job.run, job.key)
        tell(job)
    _remember(job, facts)
    return True


def mark(job: Job, **facts: Any) -> bool:
    """Notes what is known about a job that stays in its state; False where it has left it, or nothing is new."""
    new = {name: value for name, value in facts.items() if getattr(job, name) != value}
    if not new or not _rows(job).filter(state=job.state).update(**new):
        return False
    if new.keys() & set(SEEN):
        tell(job)
    _remember(job, new)
    return True


def since(at: datetime | None, now: datetime) -> datetime:
    """When something began: then, or now where it begins now or the clock was set back behind it."""
    return at if at is not None and at <= now else now


def tell(job: Job) -> None:
    """Open pages of its run ask again for what it is shown in, once this is committed."""
    transaction.on_commit(partial(live.publish_changed, job.run.uid, job.told))


def _rows(job: Job) -> Any:
    return type(job)._default_manager.filter(pk=job.pk)


def _remember(job: Job, facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        setattr(job, name, value)
