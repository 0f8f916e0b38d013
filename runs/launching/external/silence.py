"""Detect external runs that are silent, and those that are heard again. All times are by this server's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.core.cache import cache
from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from runs.access import USED_EVERY
from runs.launching.external.create import note_contact
from runs.launching.transitions import transition
from runs.models import Attempt, ExternalRun, Origin
from runs.models.attempt import RESTORED_REASON, AttemptQuerySet
from workers.executors.states import State

OBSERVATION_KEY = "external-runs-observed"
MAX_PAUSE = timedelta(seconds=60)
"""A longer pause between two checks interrupts the observation: silence in between is no evidence."""


class Observation(TypedDict):
    """Unix times of the first and the last of the checks that followed each other without a long pause."""

    since: float
    last: float


def check_silence() -> None:
    """Mark the external attempts that are silent for too long as lost, and those as running that were heard after a
    presumed end: lost ones, and those that ended because the site was restored.

    Silence counts only while these checks ran, so a site that was down declares nothing lost when it starts again.
    """
    now = timezone.now()
    since = _observed_since(now)
    ended = Attempt.objects.filter(cluster=None, origin=Origin.EXTERNAL)
    lost = _with_token_use(ended.filter(state=State.LOST.value)).filter(token_used_at__gt=F("ended_at"))
    # A backup may have uses of tokens that are newer than its own time: on a restored site only those since its start
    # count.
    restored = _with_token_use(ended.filter(state=State.INTERRUPTED.value, reason=RESTORED_REASON))
    for attempt in (*lost, *restored.filter(token_used_at__gt=since)):
        _revive(attempt.pk)
    for attempt in _with_token_use(Attempt.objects.open().filter(cluster=None, origin=Origin.EXTERNAL)):
        if now - max(_heard_at(attempt), since) >= _limit(attempt):
            _mark_lost(attempt.pk, since)


def _observed_since(now: datetime) -> datetime:
    """Return since when the checks have followed each other, and store that this one took place."""
    seconds = now.timestamp()
    before: Observation | None = cache.get(OBSERVATION_KEY)
    is_continued = before is not None and 0 <= seconds - before["last"] <= MAX_PAUSE.total_seconds()
    since = before["since"] if before is not None and is_continued else seconds
    cache.set(OBSERVATION_KEY, Observation(since=since, last=seconds), None)
    return datetime.fromtimestamp(since, tz=now.tzinfo)


def _with_token_use(attempts: AttemptQuerySet) -> Any:
    """Add the last use of the attempt's tokens, as `token_used_at`: a push of plain metrics stores no other sign."""
    own = Q(run__tokens__scope="ingest", run__tokens__name=F("key"))
    return attempts.select_related("run__external").annotate(token_used_at=Max("run__tokens__last_used_at", filter=own))


def _last_contact(attempt: Attempt) -> datetime:
    """Return the newest contact that is stored."""
    times = (attempt.heartbeat_seen_at, attempt.created_at, attempt.token_used_at)  # type: ignore[attr-defined]
    return max(at for at in times if at is not None)


def _heard_at(attempt: Attempt) -> datetime:
    """Return until when the program may have been heard: the use of a token is stored at most once a minute."""
    used_at: datetime | None = attempt.token_used_at  # type: ignore[attr-defined]
    contact = _last_contact(attempt)
    return contact if used_at is None else max(contact, used_at + USED_EVERY)


def _limit(attempt: Attempt) -> timedelta:
    return timedelta(seconds=attempt.run.external.lost_after_seconds)


def _mark_lost(pk: int, since: datetime) -> None:
    """Mark the attempt as lost, unless it was heard meanwhile. It ended when it was last heard, as far as is known."""
    with transaction.atomic():
        attempt = _lock(pk)
        if attempt.is_open and timezone.now() - max(_heard_at(attempt), since) >= _limit(attempt):
            seconds = attempt.run.external.lost_after_seconds
            transition(attempt, State.LOST, f"no heartbeat for {seconds:g} s", ended_at=_last_contact(attempt))


def _revive(pk: int) -> None:
    with transaction.atomic():
        attempt = _lock(pk)
        note_contact(attempt, timezone.now())


def _lock(pk: int) -> Attempt:
    ExternalRun.objects.select_for_update().get(run__attempts=pk)
    attempt: Attempt = _with_token_use(Attempt.objects.filter(pk=pk)).get()
    return attempt
