"""Celery's jobs of judging. Those that take long are done by one process at a time, what is left by the next tick."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager

from celery import shared_task
from django.db import connection

from judging import asking, boards, panels, tournaments
from judging.models import Assignment, Tournament

log = logging.getLogger(__name__)
ASKED_SECONDS = 20.0
"""Of one job, for all that is running; answers that are under way then are still waited for."""
LONGEST_SECONDS = 200
HELD = "esweb asks judges"
BOARDS = "esweb works out boards"
"""Names of locks."""


@shared_task(soft_time_limit=LONGEST_SECONDS - 20, time_limit=LONGEST_SECONDS)  # type: ignore[untyped-decorator]
def ask_judges() -> None:
    """Goes on with every assignment that is running. Does nothing where another process is at it."""
    running = list(Assignment.objects.filter(state=Assignment.State.RUNNING))
    if not running:
        return
    with _alone(HELD) as is_alone:
        if not is_alone:
            return
        # Each has its turn, whichever of them fails.
        for assignment in random.sample(running, len(running)):
            try:
                asking.work(assignment, ASKED_SECONDS / len(running))
            except Exception:
                log.exception("Assignment %s cannot be gone on with now: the next tick tries again", assignment.pk)


@shared_task(soft_time_limit=LONGEST_SECONDS - 20, time_limit=LONGEST_SECONDS)  # type: ignore[untyped-decorator]
def work_out_panels(tournament: int, rubric: int) -> None:
    """Works out what a page waits for; nothing where the tournament is gone meanwhile."""
    found = Tournament.objects.filter(pk=tournament, rubrics=rubric).first()
    if found is not None:
        panels.work_out(found, found.rubrics.get(pk=rubric))


@shared_task(soft_time_limit=LONGEST_SECONDS - 20, time_limit=LONGEST_SECONDS)  # type: ignore[untyped-decorator]
def keep_boards() -> None:
    """Works out the boards that are due. Does nothing where another process is at it."""
    with _alone(BOARDS) as is_alone:
        if is_alone:
            boards.work_through()


@shared_task  # type: ignore[untyped-decorator]
def purge_bin() -> None:
    """Removes for good the tournaments whose time in the bin is over."""
    tournaments.purge()


@contextmanager
def _alone(held: str) -> Iterator[bool]:
    """True for one process at a time: all may take long, and other jobs need their turn.

    A lock of the connection: whoever is killed holds it no longer.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [held])
        (got,) = cursor.fetchone()
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [held])
