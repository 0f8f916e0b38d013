"""Pause sweeps: runs that have begun continue, and those that wait leave the queues of their clusters.

A run that was released and waits on its cluster is withdrawn: it leaves the cluster's queue, and its next attempt waits
in the sweep. That is the one way that all clusters have. Slurm could hold a job in its queue, but a held job gains no
priority there and counts against the limits of its user; Ray and the local queue hold nothing. The cluster decides
whether the job still waits: one that has begun is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from runs.enqueue import on_commit
from runs.launching.cancel import withdraw_jobs
from runs.launching.create import SWEEP_HOLD_REASON
from runs.launching.transitions import publish
from runs.models import WAITING_STATES, Attempt, AttemptEvent, Cluster, Hold, Sweep
from workers.executors.states import State

HELD_AGAIN = "waits again, because its sweep was paused"
WITHDRAWN = "to leave the queue, because its sweep was paused"


def pause_sweep(sweep: Sweep) -> bool:
    """Pause a sweep: no more of its runs start, and runs that have begun continue. Return False if it was paused.

    Runs that wait on their clusters leave the queues there soon after this is committed.
    """
    with transaction.atomic():
        # The update waits for a release of runs that is under way, and no other begins after it.
        if not Sweep.objects.filter(pk=sweep.pk, paused_at=None).update(paused_at=timezone.now()):
            return False
        released = Attempt.objects.filter(
            run__sweep=sweep, hold="", state__in=WAITING_STATES, cancel_requested_at=None, moves_to=None
        )
        waiting = list(released.select_related("run").select_for_update(of=("self",)).order_by("pk"))
        _hold_again(attempt for attempt in waiting if attempt.state == State.CREATED.value)
        if _withdraw(attempt for attempt in waiting if attempt.state != State.CREATED.value):
            on_commit("withdraw_sweep", sweep.pk)
    return True


def withdraw_sweep(sweep: Sweep) -> list[Cluster]:
    """Remove the runs of a paused sweep from the queues of their clusters. Return these clusters. Safe to repeat; the
    ticks of the clusters repeat it until it has succeeded."""
    withdrawn = Attempt.objects.withdrawn().filter(run__sweep=sweep).select_related("run", "cluster").order_by("pk")
    jobs_by_cluster: dict[Cluster, list[Attempt]] = {}
    for attempt in withdrawn:
        if attempt.cluster is not None:
            jobs_by_cluster.setdefault(attempt.cluster, []).append(attempt)
    for jobs in jobs_by_cluster.values():
        withdraw_jobs(*jobs)
    return list(jobs_by_cluster)


def _hold_again(attempts: Iterable[Attempt]) -> None:
    """Hold attempts that were released and not submitted yet. Their rows are locked."""
    held = list(attempts)
    Attempt.objects.filter(pk__in=[attempt.pk for attempt in held]).update(
        hold=Hold.SWEEP.value, reason=SWEEP_HOLD_REASON
    )
    _note(held, HELD_AGAIN)


def _withdraw(attempts: Iterable[Attempt]) -> int:
    """Mark attempts that must leave the queues of their clusters. Their rows are locked. Return their number."""
    withdrawn = list(attempts)
    Attempt.objects.filter(pk__in=[attempt.pk for attempt in withdrawn]).update(
        moves_to=F("cluster_id"), moves_held=False
    )
    _note(withdrawn, WITHDRAWN)
    return len(withdrawn)


def _note(attempts: list[Attempt], why: str) -> None:
    AttemptEvent.objects.bulk_create(AttemptEvent(attempt=attempt, why=why) for attempt in attempts)
    for attempt in attempts:
        publish(attempt)
