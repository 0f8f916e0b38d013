"""Tick of a cluster: poll it once, look at each job's files, and bring the rows into agreement."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from runs.checkpoints import size_of
from runs.clusters import executor_for, waits_of
from runs.launching import queue, rebuilds
from runs.launching.cancel import cancel_job, end_what_is_left
from runs.launching.reconcile.attempt_files import Traces, diagnosis, full_disk, last_words, traces
from runs.launching.reconcile.rules import Known, Verdict, decide
from runs.launching.resume import plan_restart, restart_due
from runs.launching.submit import shut_out, submit_job
from runs.launching.submit_array import submit_together
from runs.launching.sweeps import commands
from runs.launching.transitions import mark, move, since
from runs.models import Attempt, Cluster, Job, Rebuild
from workers.attempt import DISK_FULL, read_json
from workers.executors.base import Observation, Unreachable
from workers.executors.states import State

SAID = re.compile(r"^sha256 ([0-9a-f]{64})$", re.MULTILINE)
TAIL_BYTES = 4096
NO_JOB = "esweb-nojob"
"""Key that no job has."""
TICK_LOCK = 0x7469636B
LATE_TICKS = 5
WAITED_FROM = ("gone_since_at", "final_since_at", "stuck_since_at", "heartbeat_seen_at")
log = logging.getLogger(__name__)


def progress_of(rebuild: Rebuild) -> float | None:
    """Return the share of a rebuild that is done, 0 to 1; None before the first report of progress.

    If the progress file holds no valid share, return the stored one.
    """
    said = read_json(rebuild.progress_file) or {}
    done, of = said.get("done"), said.get("of")
    return min(1.0, done / of) if isinstance(done, int) and isinstance(of, int) and of > 0 else rebuild.progress


def result_of(rebuild: Rebuild, verdict: Verdict | None) -> Verdict | None:
    """Return the decision with the results of a rebuild that succeeded: size in bytes, sha256 and progress.

    It becomes FAILED if the program reports success and its folder does not exist. Any other decision is returned
    unchanged.
    """
    if verdict is None or verdict.state != State.SUCCEEDED:
        return verdict
    if not rebuild.folder.is_dir():
        return Verdict(State.FAILED, f"the replay ended without leaving {rebuild.folder.name}", verdict.facts)
    result = {"bytes": size_of(rebuild.folder), "sha256": _sha256(rebuild), "progress": 1.0}
    return replace(verdict, facts={**verdict.facts, **result})


def _sha256(rebuild: Rebuild) -> str:
    """Return the sha256 of the weights that the program has logged; an empty text if it has logged none."""
    with (rebuild.directory / "log.txt").open("rb") as log:
        log.seek(max(0, log.seek(0, 2) - TAIL_BYTES))
        found = SAID.findall(log.read().decode(errors="replace"))
    return found[-1] if found else ""


ASK_AGAIN = timedelta(minutes=1)
"""Time between two polls of a silent cluster that has no jobs."""
UNEXPLAINED = (State.FAILED, State.LOST, State.OOM)
"""Final states about which a job's log may explain more than its cluster."""
NOT_SUBMITTED = (State.CREATED.value, State.SUBMITTING.value)


def reconcile_cluster(cluster: Cluster) -> bool:
    """Bring all open jobs of a cluster up to date. Return False if another tick is already doing so.

    Raise ExceptionGroup for jobs with files that cannot be read, after all other jobs are processed.
    """
    with _only_one(cluster) as is_mine:
        if is_mine:
            _tick(cluster)
        return is_mine


def open_jobs(cluster: Cluster) -> list[Job]:
    """Return the cluster's jobs that have not ended, without attempts that are held back.

    Attempts come before rebuilds, and each kind starts with its oldest job.
    """
    kinds = (Attempt.objects.to_clusters(), Rebuild.objects.open())
    mine = (jobs.filter(cluster=cluster).select_related("run", "cluster").order_by("pk") for jobs in kinds)
    return [*chain.from_iterable(mine)]


def settle(jobs: Sequence[Job], seen: Mapping[str, Observation | None], trust_running: bool) -> None:
    """Apply the rules to jobs for which the cluster has replied. Raise ExceptionGroup if files cannot be read."""
    errors: list[Exception] = []
    for job in jobs:
        try:
            _settle(job, seen.get(job.key), trust_running, timezone.now())
        except Unreachable as error:
            # It cannot be shut out now, so it stays as it is until it can.
            log.warning("%s cannot be brought into its next state: %s", job.key, error)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.exception("The files of %s cannot be read", job.key)
            errors.append(error)
    if errors:
        raise ExceptionGroup("files of jobs cannot be read", errors)


def _tick(cluster: Cluster) -> None:
    restart_due(cluster)
    queue.arrive(cluster)
    commands.let_go(cluster)
    jobs = open_jobs(cluster)
    cluster.refresh_from_db(fields=["ticked_at", "unreachable_since_at"])
    _count_only_what_was_watched(jobs, cluster.ticked_at)
    was_silent = not _passed_on(cluster, jobs)
    known = [j for j in jobs if j.state not in NOT_SUBMITTED and not State(j.state).is_final]
    executor = executor_for(cluster)
    asked = [job.key for job in known] + _still_to_be_brought(cluster)
    try:
        seen = executor.poll(asked) if asked else {}
    except Unreachable as error:
        _note_silence(cluster, known, str(error))
        return
    if was_silent and not asked:
        _note_silence(cluster, known, "see the jobs that are to be submitted")
        return
    if not asked:
        _ask_again(cluster)
        return
    cluster.note_answer()
    Cluster.objects.filter(pk=cluster.pk).update(ticked_at=timezone.now())
    settle(known, seen, executor.trust_running)


def _ask_again(cluster: Cluster) -> None:
    """Ask a silent cluster without jobs whether it replies now, once a minute. One that is not silent is left alone."""
    now = timezone.now()
    is_silent = cluster.unreachable_since_at is not None
    if is_silent and cluster.ticked_at is not None and abs(now - cluster.ticked_at) < ASK_AGAIN:
        return
    Cluster.objects.filter(pk=cluster.pk).update(ticked_at=now)
    if is_silent:
        try:
            executor_for(cluster).find(NO_JOB)
        except Unreachable as error:
            log.warning("%s still does not answer: %s", cluster, error)
        else:
            cluster.note_answer()


def _passed_on(cluster: Cluster, jobs: Sequence[Job]) -> bool:
    """Cancel and submit jobs, in this order: a cancelled job leaves its place, or does not take one.

    Return False if the cluster is silent. Each call to a silent cluster takes half a minute, so one per tick is enough.
    """
    ending = [job for job in jobs if job.cancel_requested_at is not None]
    others = [job for job in jobs if job.cancel_requested_at is None]
    # Of one that may be there the submit knows; of one that is not, that it never will be.
    is_heard = all(map(_submitted, ending)) and cancel_job(*ending)
    return is_heard and submit_together(cluster, others) and all(map(_submitted, others))


def _submitted(job: Job) -> bool:
    return job.state not in NOT_SUBMITTED or submit_job(job)


def _still_to_be_brought(cluster: Cluster) -> list[str]:
    """Return the keys of attempts that have ended but have left records on a disk that only the cluster sees."""
    if not cluster.is_far:
        return []
    ended = Attempt.objects.undrained().exclude(pk__in=Attempt.objects.open())
    return list(ended.filter(cluster=cluster, submits__gt=0).values_list("key", flat=True))


def _count_only_what_was_watched(jobs: Sequence[Job], ticked_at: datetime | None) -> None:
    """Move the start of each timeout forward if ticks were missing for long or the clock was set forward.

    Nothing was observed to be missing in that time.
    """
    regular = timedelta(seconds=settings.TICK_SECONDS)
    if ticked_at is None or (since_then := timezone.now() - ticked_at) < LATE_TICKS * regular:
        return
    for job in jobs:
        mark(job, **{name: at + since_then - regular for name in WAITED_FROM if (at := getattr(job, name)) is not None})


def _settle(job: Job, seen: Observation | None, trust_running: bool, now: datetime) -> None:
    found = traces(job.directory)
    _note_times(job, seen, found, now)
    verdict = decide(Known(job, seen, found, waits_of(job.cluster), trust_running, now))
    if isinstance(job, Rebuild):
        mark(job, progress=progress_of(job))
        verdict = result_of(job, verdict)
    if verdict is not None:
        _apply(job, verdict, seen)


def _note_times(job: Job, seen: Observation | None, found: Traces, now: datetime) -> None:
    """Store since when the job is absent and since when it has ended, and when its heartbeat last changed.

    All times are by this machine's clock.
    """
    if found.beat is not None and found.beat != job.heartbeat:
        mark(job, heartbeat=found.beat, heartbeat_seen_at=now)
    if seen is None and job.gone_since_at is None and found.ending is None:
        job.note(f"{job.cluster} does not know it; waiting whether it comes back", "warning")
    has_ended = found.ending is not None or (seen is not None and seen.state.is_final)
    mark(
        job,
        gone_since_at=None if seen is not None else since(job.gone_since_at, now),
        stuck_since_at=None if seen is None or not seen.never_starts else since(job.stuck_since_at, now),
        final_since_at=None if not has_ended else since(job.final_since_at, now),
        heartbeat_seen_at=since(job.heartbeat_seen_at, now) if job.heartbeat_seen_at else None,
        native_state=seen.native if seen is not None else job.native_state,
    )


def _apply(job: Job, verdict: Verdict, seen: Observation | None) -> None:
    if verdict.state.value == job.state:
        mark(job, reason=verdict.why)
        return
    if verdict.must_fence:
        shut_out(job)
    if verdict.must_withdraw:
        executor_for(job.cluster).cancel(job.key, 0.0)
    elif verdict.must_fence and seen is not None and not seen.state.is_final:
        end_what_is_left(job)
    why = verdict.why
    code = verdict.facts.get("exit_code")
    if verdict.state == State.FAILED and code == DISK_FULL:
        why = full_disk(job.directory)
    elif verdict.state == State.FAILED and code:
        why = f"{why}: {last_words(job.directory)}"
    elif verdict.state in UNEXPLAINED and _said_nothing(verdict) and (found := diagnosis(job.directory)):
        why = f"{why}: {found}"
    with transaction.atomic():
        has_moved = move(job, verdict.state, why or _usual(verdict.state, seen), **verdict.facts)
        if has_moved and isinstance(job, Attempt) and not verdict.must_withdraw:
            plan_restart(job)
    if verdict.state.is_final and isinstance(job, Rebuild):
        rebuilds.throw_away_old(job.run)


def _said_nothing(verdict: Verdict) -> bool:
    """Return whether the program recorded no end of its own: there is no exit code, or a signal killed it."""
    return "exit_code" not in verdict.facts or verdict.facts.get("exit_signal") is not None


def _usual(state: State, seen: Observation | None) -> str:
    return seen.reason or seen.native if seen is not None and not state.is_final else state.value


def _note_silence(cluster: Cluster, jobs: Sequence[Job], why: str) -> None:
    """Record that the cluster does not reply. The missing reply is no evidence about any job.

    Only the heartbeats of its jobs are still read and stored.
    """
    log.warning("%s does not answer: %s", cluster, why)
    now = timezone.now()
    cluster.note_silence()
    for job in jobs:
        beat = traces(job.directory).beat
        if beat is not None and beat != job.heartbeat:
            mark(job, heartbeat=beat, heartbeat_seen_at=now)


@contextmanager
def _only_one(cluster: Cluster) -> Iterator[bool]:
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
