"""Reports of programs about their attempts: heartbeats, and the end."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from ninja.errors import HttpError

from runs.launching.external.create import (
    EARLIEST,
    bounded_time,
    is_presumed,
    merge_news,
    merge_summary,
    note_contact,
    time_problems,
)
from runs.launching.external.limits import note_problems
from runs.launching.external.schemas import End, Heartbeat
from runs.launching.transitions import transition
from runs.models import ApiToken, Attempt, ExternalRun
from workers.config import Problem
from workers.executors.states import State

TOKEN_DAYS_AFTER_END = 1


class NotExternal(HttpError):
    """Error for a report about an attempt that this site runs itself, or that was imported."""

    def __init__(self, key: str) -> None:
        super().__init__(
            409, f"Attempt {key} belongs to no external run: only programs that create their runs here report on them"
        )


def record_heartbeat(key: str, news: Heartbeat) -> tuple[Attempt, list[Problem]]:
    """Store that the program of this attempt is alive, and its news, as far as they fit. An attempt whose end was only
    presumed runs again, if it is the newest.

    Return the attempt, and a problem for each limit exceeded. Raise NotExternal.
    """
    with transaction.atomic():
        attempt = _lock(key)
        problems = merge_news(attempt.run.external, news)
        note_problems(attempt, problems)
        note_contact(attempt, timezone.now())
    return attempt, problems


def record_end(key: str, end: End) -> tuple[Attempt, list[Problem]]:
    """Store the end of an attempt that is running, or of which the end was only presumed. Change nothing if its end is
    known.

    Return the attempt, and a problem if the summary does not fit. Raise NotExternal.
    """
    now = timezone.now()
    with transaction.atomic():
        attempt = _lock(key)
        if not (attempt.is_open or is_presumed(attempt)):
            return attempt, []
        problems = merge_summary(attempt.run.external, end.summary) + time_problems("ended_at", end.ended_at)
        note_problems(attempt, problems)
        transition(
            attempt, State(end.state), end.reason or _usual_reason(end), exit_code=end.exit_code,
            ended_at=bounded_time(end.ended_at, attempt.started_at or EARLIEST, now), heartbeat_seen_at=now,
        )  # fmt: skip
    # Records that are still on their way are stored for a day. Not in the transaction, because a push locks the rows of
    # the token and of the run's flags in another order.
    until = now + timedelta(days=TOKEN_DAYS_AFTER_END)
    tokens = ApiToken.objects.filter(run=attempt.run_id, scope="ingest", name=attempt.key)
    tokens.filter(expires_at__gt=until).update(expires_at=until)
    return attempt, problems


def _lock(key: str) -> Attempt:
    """Lock the external run of this attempt, and return the attempt as it is then. Raise NotExternal."""
    if ExternalRun.objects.select_for_update().filter(run__attempts__key=key).first() is None:
        raise NotExternal(key)
    return Attempt.objects.select_related("run__external").get(key=key)


def _usual_reason(end: End) -> str:
    return "reported by the program" if end.exit_code is None else f"exit code {end.exit_code}"
