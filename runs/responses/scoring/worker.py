"""Goes on with scorings, a piece at a time, each kept before the next: who is killed loses one, and it is repeated.

A scorer that is away is waited for: each job asks it anew, where it is then. What it refuses ends a scoring at once.
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
from runs.responses.scoring.queries import counted, score, unscored
from runs.responses.scoring.scorers import scorer_of
from workers.scorer.client import ScorerFailed, ScorerRefused

PIECE = 16
"""Answers in one request: few, so that a slow scorer gives something within its time."""
AHEAD = 2000
"""Answers that one job looks up."""
PATIENCE = timedelta(minutes=10)
"""Without a score; then a scoring has failed, and may be resumed."""
HELD = 0x5C07E
"""First half of the locks' names, which no other lock has."""


def work_through(seconds: float) -> None:
    """Goes on with all of them for so long, each in its turn.

    Raises ExceptionGroup of what nobody expected of a scoring, after all others have had their turn.
    """
    going = list(Scoring.objects.filter(state=Scoring.State.GOING).values_list("pk", flat=True))
    errors: list[Exception] = []
    for pk in random.sample(going, len(going)):
        with _alone(pk) as is_alone:
            try:
                if is_alone:
                    _go_on(pk, time.monotonic() + seconds / len(going))
            except Exception as error:
                errors.append(error)
    if errors:
        raise ExceptionGroup("scorings that could not go on", errors)


def _go_on(pk: int, until: float) -> None:
    scoring = Scoring.objects.select_related("run", "asked_by").filter(pk=pk, state=Scoring.State.GOING).first()
    if scoring is None:
        return
    _count(scoring)
    try:
        if _score(scoring, until):
            _count(scoring)
            _end(scoring, Scoring.State.DONE)
    except ScorerRefused as error:
        _end(scoring, Scoring.State.FAILED, str(error))
    except ScorerFailed as error:
        _wait(scoring, str(error))
    except Exception:
        _wait(scoring, gettext("It cannot go on; the server's log says why."))
        raise


def _score(scoring: Scoring, until: float) -> bool:
    """True where nothing is left. Raises ScorerFailed."""
    left = unscored(scoring.run, scoring.scorer, scoring.step, scoring.split)
    by = scorer_of(scoring.asked_by, scoring.scorer)
    before = 0
    for done in score(left[:AHEAD], by, scoring.scorer, PIECE):
        # Says at the same time whether anybody has cancelled it.
        if not _going(scoring).update(done=F("done") + done - before, moved_at=timezone.now(), reason=""):
            # What was scored meanwhile is kept, so it is counted too.
            _count(scoring)
            return False
        if time.monotonic() > until:
            break
        before = done
    return not left.exists()


def _wait(scoring: Scoring, why: str) -> None:
    scoring.refresh_from_db()
    if timezone.now() - scoring.moved_at < PATIENCE:
        _going(scoring).update(reason=why)
        return
    said = gettext("%(why)s Nothing came for %(minutes)s minutes.")
    _end(scoring, Scoring.State.FAILED, said % {"why": why, "minutes": PATIENCE.seconds // 60})


def _end(scoring: Scoring, state: Scoring.State, why: str = "") -> None:
    _going(scoring).update(state=state, reason=why, ended_at=timezone.now())


def _count(scoring: Scoring) -> None:
    done, total = counted(scoring.run, scoring.scorer, scoring.step, scoring.split)
    Scoring.objects.filter(pk=scoring.pk).update(done=done, total=total)


def _going(scoring: Scoring) -> QuerySet[Scoring]:
    return Scoring.objects.filter(pk=scoring.pk, state=Scoring.State.GOING)


@contextmanager
def _alone(pk: int) -> Iterator[bool]:
    """True for one process at a time. A lock of the connection: whoever is killed holds it no longer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [HELD, pk])
        (got,) = cursor.fetchone()
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [HELD, pk])
