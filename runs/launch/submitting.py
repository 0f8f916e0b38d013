"""Submits an attempt once, whoever is killed when.

The intent is committed before the cluster is called. From then on the job may exist, so it is looked for by its key,
and called for again only after the cluster has answered "no such job" for so long that nothing can be on its way still.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from runs.launch.changes import mark, move, since
from runs.launch.clusters import executor_for, waits_of
from runs.models import Attempt
from workers.attempt import write_json
from workers.executors.base import Ambiguous, Executor, Rejected, Spec, Unreachable
from workers.executors.states import State


def submit(attempt: Attempt) -> None:
    """Brings an attempt to its cluster, or one step nearer. Safe to repeat and to run twice at once."""
    if attempt.state == State.CREATED.value and not move(attempt, State.SUBMITTING, "on its way to the cluster"):
        return
    if attempt.state != State.SUBMITTING.value:
        return
    try:
        _write_config(attempt)
        executor = executor_for(attempt.cluster)
        found = executor.find(attempt.key)
    except Unreachable as error:
        mark(attempt, reason=f"{attempt.cluster} does not answer: {error}", gone_since_at=None)
    except OSError as error:
        mark(attempt, reason=f"the attempt's directory cannot be written: {error}")
    else:
        if found is not None:
            move(attempt, State.QUEUED, "found on the cluster", native_id=found.native_id, gone_since_at=None)
        elif not _may_still_appear(attempt):
            _call(executor, attempt)


def spec_of(attempt: Attempt) -> Spec:
    """The job that an attempt is. No secret stands in it."""
    compute = attempt.run.run_config.compute
    env = {"ESWEB_CACHE": str(settings.CACHE_DIR)}
    if "HF_HUB_OFFLINE" in os.environ:
        env["HF_HUB_OFFLINE"] = os.environ["HF_HUB_OFFLINE"]
    return Spec(
        key=attempt.key,
        directory=attempt.directory,
        argv=(sys.executable, "-m", "workers.train", "run.json", "--out", "."),
        cores=compute.cores,
        gpus=compute.gpus,
        memory_mb=compute.memory_mb,
        time_limit_seconds=compute.time_limit_seconds,
        grace_seconds=waits_of(attempt.cluster).grace,
        env=env,
    )


def _write_config(attempt: Attempt) -> None:
    attempt.directory.mkdir(parents=True, exist_ok=True)
    write_json(attempt.directory / "run.json", attempt.run.config, sync=True)


def _may_still_appear(attempt: Attempt) -> bool:
    """True while a call may yet turn out to have worked. Notes when the cluster first answered "no such job"."""
    if attempt.submit_started_at is None:
        return False
    now = timezone.now()
    absent_since = since(attempt.gone_since_at, now)
    mark(attempt, gone_since_at=absent_since)
    return now - absent_since < timedelta(seconds=waits_of(attempt.cluster).ambiguous)


def _call(executor: Executor, attempt: Attempt) -> None:
    if attempt.cancel_requested_at is not None:
        move(attempt, State.CANCELLED, "cancelled before it was on the cluster")
        return
    if not _take_turn(attempt):
        return
    try:
        native_id = executor.submit(spec_of(attempt))
    except Rejected as error:
        move(attempt, State.FAILED, f"{attempt.cluster} refused it: {error}")
    except (Ambiguous, Unreachable) as error:
        mark(attempt, reason=f"{attempt.cluster} did not say whether it took the job: {error}")
    else:
        move(attempt, State.QUEUED, f"submitted to {attempt.cluster}", native_id=native_id)


def _take_turn(attempt: Attempt) -> bool:
    """Commits the intent to call. Of several who try at once, one may."""
    mine = Attempt.objects.filter(
        pk=attempt.pk, state=State.SUBMITTING.value, submits=attempt.submits, cancel_requested_at=None
    )
    if not mine.update(submits=F("submits") + 1, submit_started_at=timezone.now(), gone_since_at=None):
        return False
    attempt.refresh_from_db(fields=["submits", "submit_started_at", "gone_since_at"])
    return True
