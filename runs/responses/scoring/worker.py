"""Job that continues scorings batch by batch. Each batch is stored before the next: a killed job repeats one batch.

If a scorer is unavailable, each job tries it again at its current address. A refusal fails the scoring immediately.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from runs.models import Scoring
from runs.responses.scoring.queries import count_scored, score, unscored
from runs.responses.scoring.scorers import scorer_for
from workers.scorer.client import ScorerFailed, ScorerRefused

REQUEST_SIZE = 16
"""Responses in one request: few, so that a slow scorer returns scores within its time."""
MAX_LOOKED_UP = 2000
"""Responses that one job looks up."""
MAX_WAIT = timedelta(minutes=10)
"""Time without a score after which a scoring fails; it may be resumed."""
LOCK_CLASS = 0x5C07E
"""First key of the advisory locks, which no other lock uses."""


def work_through(seconds: float) -> None:
    """Continue all scorings for `seconds` in total, one after another.

    Raise ExceptionGroup of unexpected errors, after all other scorings were continued.
    """
    active = list(Scoring.objects.filter(state=Scoring.State.GOING).values_list("pk", flat=True))
    errors: list[Exception] = []
    for pk in random.sample(active, len(active)):
        with _scoring_lock(pk) as has_lock:
            try:
                if has_lock:
                    _continue_scoring(pk, time.monotonic() + seconds / len(active))
            except Exception as error:
                errors.append(error)
    if errors:
        raise ExceptionGroup("scorings that could not continue", errors)


def _continue_scoring(pk: int, deadline: float) -> None:
    scoring = Scoring.objects.select_related("run", "asked_by").filter(pk=pk, state=Scoring.State.GOING).first()
    if scoring is None:
        return
    _count(scoring)
    try:
        if _score(scoring, deadline):
            _count(scoring)
            _end(scoring, Scoring.State.DONE)
    except ScorerRefused as error:
        _end(scoring, Scoring.State.FAILED, str(error))
    except ScorerFailed as error:
        _wait(scoring, str(error))
    except Exception:
        _wait(scoring, gettext("The scoring cannot continue. See the server's log."))
        raise


def _score(scoring: Scoring, deadline: float) -> bool:
    """Score until the deadline. Return whether no response remains, or False if cancelled. Raise ScorerFailed."""
    remaining = unscored(scoring.run, scoring.scorer, scoring.step, scoring.split)
    scorer = scorer_for(scoring.asked_by, scoring.scorer)
    before = 0
    for done in score(remaining[:MAX_LOOKED_UP], scorer, scoring.scorer, REQUEST_SIZE):
        # The update also tells whether the scoring was cancelled.
        if not _active_rows(scoring).update(done=F("done") + done - before, moved_at=timezone.now(), reason=""):
            # Scores of this batch are stored, so count them too.
            _count(scoring)
            return False
        if time.monotonic() > deadline:
            break
        before = done
    return not remaining.exists()


def _wait(scoring: Scoring, reason: str) -> None:
    scoring.refresh_from_db()
    if timezone.now() - scoring.moved_at < MAX_WAIT:
        _active_rows(scoring).update(reason=reason)
        return
    message = gettext("%(why)s There was no progress for %(minutes)s minutes.")
    _end(scoring, Scoring.State.FAILED, message % {"why": reason, "minutes": MAX_WAIT.seconds // 60})


def _end(scoring: Scoring, state: Scoring.State, reason: str = "") -> None:
    _active_rows(scoring).update(state=state, reason=reason, ended_at=timezone.now())


def _count(scoring: Scoring) -> None:
    done, total = count_scored(scoring.run, scoring.scorer, scoring.step, scoring.split)
    Scoring.objects.filter(pk=scoring.pk).update(done=done, total=total)


def _active_rows(scoring: Scoring) -> QuerySet[Scoring]:
    return Scoring.objects.filter(pk=scoring.pk, state=Scoring.State.GOING)


@contextmanager
def _scoring_lock(pk: int) -> Iterator[bool]:
    """Yield True for one process at a time. The lock belongs to the connection, so a killed process releases it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [LOCK_CLASS, pk])
        (has_lock,) = cursor.fetchone()
    try:
        yield has_lock
    finally:
        if has_lock:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [LOCK_CLASS, pk])
