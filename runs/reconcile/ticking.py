"""One tick: ask the cluster once, look at each attempt's files, and bring the rows into agreement."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.db import connection
from django.utils import timezone

from runs.launch import cancel, executor_for, mark, move, since, submit, waits_of
from runs.models import Attempt, AttemptEvent, Cluster
from runs.reconcile.rules import Known, Verdict, decide
from runs.reconcile.traces import Traces, last_words, traces
from workers.attempt import CLOSED_EPOCH, raise_lease
from workers.executors.base import Observation, Unreachable
from workers.executors.states import State

log = logging.getLogger(__name__)

TICK_LOCK = 0x7469636B
NOT_SUBMITTED = (State.CREATED.value, State.SUBMITTING.value)


def tick(cluster: Cluster) -> bool:
    """Brings all open attempts of a cluster up to date. False where another tick is at it already.

    Raises ExceptionGroup for attempts whose files cannot be read, after all others have been seen to.
    """
    with _only_one(cluster) as is_mine:
        if is_mine:
            _tick(cluster)
        return is_mine


def open_attempts(cluster: Cluster) -> list[Attempt]:
    """The cluster's attempts that have not ended, oldest first."""
    return list(Attempt.objects.open().filter(cluster=cluster).select_related("run", "cluster").order_by("pk"))


def settle(attempts: Sequence[Attempt], seen: Mapping[str, Observation | None], trust_running: bool) -> None:
    """Applies the rules to attempts about which the cluster has answered."""
    errors: list[Exception] = []
    for attempt in attempts:
        try:
            _settle(attempt, seen.get(attempt.key), trust_running, timezone.now())
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.exception("The files of %s cannot be read", attempt.key)
            errors.append(error)
    if errors:
        raise ExceptionGroup("files of attempts cannot be read", errors)


def _tick(cluster: Cluster) -> None:
    attempts = open_attempts(cluster)
    for attempt in attempts:
        if attempt.state in NOT_SUBMITTED:
            submit(attempt)
        cancel(attempt)
    known = [a for a in attempts if a.state not in NOT_SUBMITTED and not State(a.state).is_final]
    executor = executor_for(cluster)
    try:
        seen = executor.poll([attempt.key for attempt in known]) if known else {}
    except Unreachable as error:
        _note_silence(cluster, known, error)
        return
    Cluster.objects.filter(pk=cluster.pk).update(ticked_at=timezone.now(), unreachable_since_at=None)
    settle(known, seen, executor.trust_running)


def _settle(attempt: Attempt, seen: Observation | None, trust_running: bool, now: datetime) -> None:
    found = traces(attempt.directory)
    _note_times(attempt, seen, found, now)
    verdict = decide(Known(attempt, seen, found, waits_of(attempt.cluster), trust_running, now))
    if verdict is not None:
        _apply(attempt, verdict, seen)


def _note_times(attempt: Attempt, seen: Observation | None, found: Traces, now: datetime) -> None:
    """Since when it is absent, since when it has ended, when its heart was last heard: all by this machine's clock."""
    if found.beat is not None and found.beat != attempt.heartbeat:
        mark(attempt, heartbeat=found.beat, heartbeat_seen_at=now)
    if seen is None and attempt.gone_since_at is None and found.ending is None:
        why = f"{attempt.cluster} does not know it; waiting whether it comes back"
        AttemptEvent.objects.create(attempt=attempt, level="warning", why=why)
    has_ended = found.ending is not None or (seen is not None and seen.state.is_final)
    mark(
        attempt,
        gone_since_at=None if seen is not None else since(attempt.gone_since_at, now),
        final_since_at=None if not has_ended else since(attempt.final_since_at, now),
        heartbeat_seen_at=since(attempt.heartbeat_seen_at, now) if attempt.heartbeat_seen_at else None,
        native_state=seen.native if seen is not None else attempt.native_state,
    )


def _apply(attempt: Attempt, verdict: Verdict, seen: Observation | None) -> None:
    if verdict.state.value == attempt.state:
        mark(attempt, reason=verdict.why)
        return
    if verdict.must_fence:
        _shut_out(attempt)
    why = verdict.why
    if verdict.state == State.FAILED and verdict.facts.get("exit_code"):
        why = f"{why}: {last_words(attempt.directory)}"
    move(attempt, verdict.state, why or _usual(verdict.state, seen), **verdict.facts)


def _usual(state: State, seen: Observation | None) -> str:
    return seen.reason or seen.native if seen is not None and not state.is_final else state.value


def _shut_out(attempt: Attempt) -> None:
    """Whatever is left of it stops within a beat, should it come back."""
    if attempt.directory.exists():
        raise_lease(attempt.directory, CLOSED_EPOCH)


def _note_silence(cluster: Cluster, attempts: Sequence[Attempt], error: Unreachable) -> None:
    """An answer that did not come says nothing about any job; only their hearts can still be heard."""
    log.warning("%s does not answer: %s", cluster, error)
    now = timezone.now()
    Cluster.objects.filter(pk=cluster.pk, unreachable_since_at=None).update(unreachable_since_at=now)
    for attempt in attempts:
        beat = traces(attempt.directory).beat
        if beat is not None and beat != attempt.heartbeat:
            mark(attempt, heartbeat=beat, heartbeat_seen_at=now)


@contextmanager
def _only_one(cluster: Cluster) -> Iterator[bool]:
    """A lock that the database frees when its holder dies. No transaction is held open while clusters are asked."""
    with connection.cursor() as sql:
        sql.execute("SELECT pg_try_advisory_lock(%s, %s)", [TICK_LOCK, cluster.pk])
        is_mine = bool(sql.fetchone()[0])
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as sql:
                sql.execute("SELECT pg_advisory_unlock(%s, %s)", [TICK_LOCK, cluster.pk])
