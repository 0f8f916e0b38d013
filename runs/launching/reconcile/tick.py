"""Tick of a cluster: poll it once, look at each job's files, and bring the rows into agreement."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import chain

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from runs.clusters import executor_for, refresh_due_inventory, timeouts_of
from runs.launching import queue, rebuilds
from runs.launching.cancel import cancel_job, end_leftover_job, withdraw_jobs
from runs.launching.create import clear_moves
from runs.launching.reconcile.attempt_files import Traces, read_traces
from runs.launching.reconcile.end_reasons import explain_end, read_last_words
from runs.launching.reconcile.rebuild_results import progress_of, result_of
from runs.launching.reconcile.rules import Decision, JobFacts, decide
from runs.launching.resume import create_due_restarts, plan_restart
from runs.launching.submit import fence, submit_job
from runs.launching.submit_array import submit_together
from runs.launching.submit_pauses import make_room
from runs.launching.sweeps import commands
from runs.launching.transitions import begun_at, transition, update_facts
from runs.models import Attempt, Cluster, Job, Rebuild
from workers.executors.base import Observation, Unreachable
from workers.executors.states import State

NO_JOB = "esweb-nojob"
"""Key that no job has."""
TICK_LOCK = 0x7469636B
LATE_TICKS = 5
TIMEOUT_STARTS = ("gone_since_at", "final_since_at", "stuck_since_at", "heartbeat_seen_at")
SILENT_POLL_INTERVAL = timedelta(minutes=1)
"""Time between two polls of a silent cluster that has no jobs."""
NOT_SUBMITTED = (State.CREATED.value, State.SUBMITTING.value)
log = logging.getLogger(__name__)


def reconcile_cluster(cluster: Cluster) -> bool:
    """Bring all open jobs of a cluster up to date. Return False if another tick is already doing so.

    Raise ExceptionGroup for jobs with files that cannot be read, after all other jobs are processed.
    """
    with _tick_lock(cluster) as is_mine:
        if is_mine:
            _tick(cluster)
        return is_mine


def open_jobs(cluster: Cluster) -> list[Job]:
    """Return the cluster's jobs that have not ended, without attempts that are held back.

    Attempts come before rebuilds, and each kind starts with its oldest job.
    """
    kinds = (Attempt.objects.to_clusters(), Rebuild.objects.open())
    querysets = (jobs.filter(cluster=cluster).select_related("run", "cluster").order_by("pk") for jobs in kinds)
    return [*chain.from_iterable(querysets)]


def settle(jobs: Sequence[Job], observations: Mapping[str, Observation | None], trust_running: bool) -> None:
    """Apply the rules to jobs for which the cluster has replied. Raise ExceptionGroup if files cannot be read."""
    errors: list[Exception] = []
    for job in jobs:
        try:
            _settle(job, observations.get(job.key), trust_running, timezone.now())
        except Unreachable as error:
            # The cluster is unreachable, so the job cannot be fenced. The next tick retries.
            log.warning("Job %s stays in its state until its cluster is reachable: %s", job.key, error)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.exception("Tick cannot read the files of job %s; the next tick retries", job.key)
            errors.append(error)
    if any(State(job.state).is_final for job in jobs):
        make_room(jobs[0].cluster)
    if errors:
        raise ExceptionGroup("files of jobs cannot be read", errors)


def _tick(cluster: Cluster) -> None:
    create_due_restarts(cluster)
    queue.create_moved_attempts(cluster)
    commands.release_waiting(cluster)
    jobs = open_jobs(cluster)
    cluster.refresh_from_db(fields=["ticked_at", "unreachable_since_at", "inventory_tried_at"])
    _extend_timeouts(jobs, cluster.ticked_at)
    was_silent = not _send_jobs(cluster, jobs)
    submitted = [j for j in jobs if j.state not in NOT_SUBMITTED and not State(j.state).is_final]
    executor = executor_for(cluster)
    keys = [job.key for job in submitted] + _undrained_keys(cluster)
    try:
        observations = executor.poll(keys) if keys else {}
    except Unreachable as error:
        _note_silence(cluster, submitted, str(error))
        return
    if was_silent and not keys:
        _note_silence(cluster, submitted, "see the jobs that are to be submitted")
        return
    if not keys:
        _poll_silent(cluster)
        if cluster.unreachable_since_at is None:
            refresh_due_inventory(cluster)
        return
    cluster.note_answer()
    Cluster.objects.filter(pk=cluster.pk).update(ticked_at=timezone.now())
    refresh_due_inventory(cluster)
    settle(submitted, observations, executor.trust_running)
    if any(job.is_moving for job in submitted):
        queue.create_moved_attempts(cluster)


def _poll_silent(cluster: Cluster) -> None:
    """Poll a silent cluster without jobs once a minute. Do not poll one that is not silent."""
    now = timezone.now()
    is_silent = cluster.unreachable_since_at is not None
    if is_silent and cluster.ticked_at is not None and abs(now - cluster.ticked_at) < SILENT_POLL_INTERVAL:
        return
    Cluster.objects.filter(pk=cluster.pk).update(ticked_at=now)
    if is_silent:
        try:
            executor_for(cluster).find(NO_JOB)
        except Unreachable as error:
            log.warning("Cluster %s still does not reply; retrying in a minute: %s", cluster, error)
        else:
            cluster.note_answer()


def _send_jobs(cluster: Cluster, jobs: Sequence[Job]) -> bool:
    """Cancel and submit jobs, in this order: a cancelled job frees its resources, or does not take any.

    Return False if the cluster is silent. Each call to a silent cluster takes half a minute, so one per tick is enough.
    """
    ending = [job for job in jobs if job.cancel_requested_at is not None]
    others = [job for job in jobs if job.cancel_requested_at is None]
    # What ran when esweb was stopped goes before what waits: each submit starts jobs that fit.
    others.sort(key=lambda job: not job.goes_first)
    # Submit finds a job that may be on the cluster; it never submits a cancelled job that is not there.
    is_heard = all(map(_is_submitted, ending)) and cancel_job(*ending) and withdraw_jobs(*others)
    return is_heard and submit_together(cluster, others) and all(map(_is_submitted, others))


def _is_submitted(job: Job) -> bool:
    return job.state not in NOT_SUBMITTED or submit_job(job)


def _undrained_keys(cluster: Cluster) -> list[str]:
    """Return the keys of attempts that have ended but have left records on a disk that only the cluster sees."""
    if not cluster.is_remote:
        return []
    ended = Attempt.objects.undrained().exclude(pk__in=Attempt.objects.open())
    return list(ended.filter(cluster=cluster, submits__gt=0).values_list("key", flat=True))


def _extend_timeouts(jobs: Sequence[Job], ticked_at: datetime | None) -> None:
    """Move the start of each timeout forward if ticks were missing for long or the clock was set forward.

    In that time no absence was observed.
    """
    regular = timedelta(seconds=settings.TICK_SECONDS)
    if ticked_at is None or (since_then := timezone.now() - ticked_at) < LATE_TICKS * regular:
        return
    for job in jobs:
        update_facts(
            job,
            **{name: at + since_then - regular for name in TIMEOUT_STARTS if (at := getattr(job, name)) is not None},
        )


def _settle(job: Job, observation: Observation | None, trust_running: bool, now: datetime) -> None:
    if observation is not None and observation.state == State.CANCELLED:
        # A user may have cancelled it, or paused its sweep, since it was read.
        job.refresh_from_db(fields=job.requested_fields)
    traces = read_traces(job.directory)
    _note_times(job, observation, traces, now)
    decision = decide(JobFacts(job, observation, traces, timeouts_of(job.cluster), trust_running, now))
    # The result of a rebuild is the folder that it writes; that of an attempt is in its records.
    if isinstance(job, Rebuild):
        _settle_rebuild(job, decision, observation)
    elif decision is not None:
        _apply(job, decision, observation)


def _settle_rebuild(rebuild: Rebuild, decision: Decision | None, observation: Observation | None) -> None:
    update_facts(rebuild, progress=progress_of(rebuild))
    if (decision := result_of(rebuild, decision)) is None:
        return
    _apply(rebuild, decision, observation)
    if decision.state.is_final:
        rebuilds.delete_old_rebuilds(rebuild.run)


def _note_times(job: Job, observation: Observation | None, traces: Traces, now: datetime) -> None:
    """Store since when the job is absent and since when it has ended, and when its heartbeat last changed.

    All times are by this machine's clock.
    """
    if traces.heartbeat is not None and traces.heartbeat != job.heartbeat:
        update_facts(job, heartbeat=traces.heartbeat, heartbeat_seen_at=now)
    if observation is None and job.gone_since_at is None and traces.ending is None:
        job.note(f"{job.cluster} does not know the job; checking again before it counts as lost", "warning")
    has_ended = traces.ending is not None or (observation is not None and observation.state.is_final)
    update_facts(
        job,
        gone_since_at=None if observation is not None else begun_at(job.gone_since_at, now),
        stuck_since_at=None
        if observation is None or not observation.never_starts
        else begun_at(job.stuck_since_at, now),
        final_since_at=None if not has_ended else begun_at(job.final_since_at, now),
        heartbeat_seen_at=begun_at(job.heartbeat_seen_at, now) if job.heartbeat_seen_at else None,
        native_state=observation.native if observation is not None else job.native_state,
    )


def _apply(job: Job, decision: Decision, observation: Observation | None) -> None:
    if decision.state.value == job.state:
        update_facts(job, reason=decision.reason)
        return
    if decision.must_fence:
        fence(job)
    if decision.must_withdraw:
        executor_for(job.cluster).cancel(job.key, 0.0)
    elif decision.must_fence and observation is not None and not observation.state.is_final:
        end_leftover_job(job)
    reason = explain_end(decision, lambda: read_last_words(job.directory))
    with transaction.atomic():
        has_moved = transition(
            job, decision.state, reason or _usual_reason(decision.state, observation), **decision.updates
        )
        # Only an attempt is followed by another one; a rebuild is requested again.
        if has_moved and isinstance(job, Attempt) and decision.state.is_final:
            _plan_next(job, decision)


def _plan_next(attempt: Attempt, decision: Decision) -> None:
    """Plan what follows the end of an attempt. A run that was to be moved follows a cancel only."""
    if decision.state != State.CANCELLED and attempt.is_moving and clear_moves(attempt.run):
        if attempt.is_withdrawn:
            attempt.note(queue.STARTED_MEANWHILE)
        else:
            attempt.note(f"not moved: it ended before it could be removed from {attempt.cluster}", "warning")
    if not decision.must_withdraw:
        plan_restart(attempt)


def _usual_reason(state: State, observation: Observation | None) -> str:
    return observation.reason or observation.native if observation is not None and not state.is_final else state.value


def _note_silence(cluster: Cluster, jobs: Sequence[Job], reason: str) -> None:
    """Record that the cluster does not reply. The missing reply is no evidence about any job.

    Only the heartbeats of its jobs are still read and stored.
    """
    log.warning("Cluster %s does not reply; the next tick retries: %s", cluster, reason)
    now = timezone.now()
    cluster.note_silence()
    for job in jobs:
        heartbeat = read_traces(job.directory).heartbeat
        if heartbeat is not None and heartbeat != job.heartbeat:
            update_facts(job, heartbeat=heartbeat, heartbeat_seen_at=now)


@contextmanager
def _tick_lock(cluster: Cluster) -> Iterator[bool]:
    """Hold a lock that the database frees when its holder dies. Yield whether this caller has it.

    No transaction stays open while clusters are polled.
    """
    with connection.cursor() as sql:
        sql.execute("SELECT pg_try_advisory_lock(%s, %s)", [TICK_LOCK, cluster.pk])
        is_mine = bool(sql.fetchone()[0])
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as sql:
                sql.execute("SELECT pg_advisory_unlock(%s, %s)", [TICK_LOCK, cluster.pk])
