"""Pauses of jobs that their cluster refuses for now, and the number of times that a job is submitted.

A refused job waits before it is submitted again: each time twice as long, up to a limit. What it waits for concerns
other jobs too: those of its cluster and partition that follow it are not submitted meanwhile. When a job of this site
ends, there may be room for another, so the pause ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from django.db import transaction
from django.utils import timezone

from runs.clusters import timeouts_of
from runs.launching.transitions import rows_of, transition, update_facts
from runs.models import Attempt, Cluster, Job, Rebuild
from runs.models.experiment import config_section
from workers.executors.states import Obstacle, State

MAX_SUBMITS = 200
"""Number of times that a job is submitted at most, whatever the cluster replies: over a week at the longest pause."""
MAX_UNCLEAR_SUBMITS = 20
"""The same for a job whose refusal may be for ever: over half a day."""
REFUSING_KINDS = ("slurm",)
"""Kinds of clusters that refuse jobs for now."""
WAITING = "waiting"
"""First word of the reasons of jobs that their cluster refuses for now, and of those behind them."""
TRIES = "; submitted"
"""Begin of a reason's last part: how often the job was submitted, and when it is next."""
SHARED = (Obstacle.ROOM.value, Obstacle.CLUSTER.value)
"""Obstacles that other jobs of the cluster wait for too."""


def postpone(job: Job, reason: str, obstacle: Obstacle) -> None:
    """Let a job wait that its cluster certainly did not take, or end it if it was submitted often enough."""
    limit = MAX_UNCLEAR_SUBMITS if obstacle == Obstacle.UNCLEAR else MAX_SUBMITS
    if job.submits >= limit:
        end_refused(job, reason)
        return
    again_at = timezone.now() + _pause(job, job.submits)
    if job.obstacle != obstacle.value:
        job.note(f"{job.cluster} refused it for now: {reason}", "warning")
    ending = ", or when another job of this site ends there" if obstacle == Obstacle.ROOM else ""
    _store(
        job,
        reason=f"{WAITING}: {job.cluster} refuses it for now: {reason}{TRIES} {job.submits} of at most {limit} "
        f"times, next at {again_at:%Y-%m-%d %H:%M} UTC{ending}",
        obstacle=obstacle.value,
        submit_again_at=again_at,
        # No job exists, so none needs to be searched for before the next call.
        submit_started_at=None,
    )


def unconfirmed_facts(job: Job, reason: str, obstacle: Obstacle | None) -> dict[str, Any]:
    """Return what is stored about a job that may have been submitted. If it was not, it is submitted again after a
    pause at the earliest: none after the first time, unless the cluster is known to take no job."""
    pauses = job.submits if obstacle is not None else job.submits - 1
    return {
        "reason": f"{job.cluster} did not confirm the job: {reason}",
        "obstacle": obstacle.value if obstacle is not None else "",
        "submit_again_at": timezone.now() + _pause(job, pauses) if pauses > 0 else None,
    }


def disk_full_facts(job: Job, reason: str) -> dict[str, Any]:
    """Return what is stored about a job whose files cannot be written on its cluster. The others wait behind it."""
    return {
        "reason": f"{WAITING}: the disk is full ({reason})",
        "obstacle": Obstacle.CLUSTER.value,
        "submit_again_at": timezone.now() + _pause(job, 1),
    }


def end_refused(job: Job, reason: str) -> None:
    """End a job that was submitted as often as a job is submitted."""
    times = f"{job.submits} time{'s' if job.submits > 1 else ''}"
    transition(job, State.FAILED, f"{job.cluster} did not take it; it was submitted {times}, and no more: {reason}")


def forget_call(job: Job) -> None:
    """Store that the last call certainly submitted nothing."""
    _store(job, submit_started_at=None)


def is_waiting(job: Job) -> bool:
    """Return whether the job is not submitted now, since its cluster refuses it for now, or another one before it. In
    the second case, store the reason."""
    now = timezone.now()
    if _is_ahead(job, now):
        return True
    if job.obstacle in SHARED or job.cluster.kind not in REFUSING_KINDS:
        return False
    partition = _partition(job)
    for other in _refused(job.cluster):
        if other.key != job.key and _is_ahead(other, now) and _partition(other) == partition:
            update_facts(job, reason=_describe_blocked(job, other))
            return True
    return False


def make_room(cluster: Cluster) -> None:
    """End the pauses of jobs that wait for room on the cluster, because a job of this site ended there."""
    if cluster.kind not in REFUSING_KINDS:
        return
    for kind in (Attempt, Rebuild):
        waiting = kind._default_manager.filter(
            cluster=cluster, state=State.SUBMITTING.value, obstacle=Obstacle.ROOM.value
        )
        waiting.filter(submit_again_at__gt=timezone.now()).update(submit_again_at=timezone.now())


def _describe_blocked(job: Job, other: Job) -> str:
    reason = other.reason.removeprefix(f"{WAITING}: ").partition(TRIES)[0]
    if other.run.experiment_id == job.run.experiment_id:
        return f"{WAITING} behind run {other.run.name}: {reason}"
    # This user may not see that run: its name and the details, such as a folder's, stay with it.
    return f"{WAITING} behind another run: {reason.partition(' (')[0]}"


def _pause(job: Job, times: int) -> timedelta:
    timeouts = timeouts_of(job.cluster)
    return timedelta(seconds=min(timeouts.submit_longest, timeouts.submit * 2.0 ** min(times - 1, 30)))


def _is_ahead(job: Job, now: datetime) -> bool:
    """Return whether the pause of a job has not passed. One that is longer than any pause comes from a clock that was
    set back."""
    if job.submit_again_at is None:
        return False
    longest = timedelta(seconds=timeouts_of(job.cluster).submit_longest)
    return now < job.submit_again_at <= now + longest


def _refused(cluster: Cluster) -> Iterator[Job]:
    querysets = (
        kind._default_manager.filter(
            cluster=cluster, state=State.SUBMITTING.value, obstacle__in=SHARED, cancel_requested_at=None
        )
        for kind in (Attempt, Rebuild)
    )
    return chain.from_iterable(rows.select_related("run", "cluster").order_by("pk") for rows in querysets)


def _partition(job: Job) -> str:
    """Return the partition that the job requests. A rebuild names none, whatever its run does."""
    named = config_section(job.run.config, "compute").get("partition", "") if job.executes_run else ""
    return str(named or job.cluster.config.get("partition", ""))


def _store(job: Job, **facts: Any) -> None:
    """Store facts about the job's last call, unless another worker has called the cluster since."""
    with transaction.atomic():
        if rows_of(job).filter(submits=job.submits).select_for_update().values_list("pk").first():
            update_facts(job, **facts)
