"""Which boards are to be worked out: those that somebody ordered, and the usual ones of what has changed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext

from judging.boards.settings import USUAL, BoardSettings
from judging.boards.snapshots import Place, keep, stamps
from judging.models import BoardOrder, Rubric, Snapshot, Tournament

log = logging.getLogger(__name__)
LOCK = "esweb works out boards"
MANY = 20_000
"""Votes. Boards of more take seconds, and wait longer until they are worked out again."""
AGAIN_AFTER, MANY_AGAIN_AFTER = timedelta(seconds=10), timedelta(minutes=2)
LOOKED_AFTER = timedelta(days=1)
"""So long after a tournament was closed, what changes is still noticed; later by whoever orders its board."""
WORKED_SECONDS = 60.0
"""Of one call; a board that was begun then is still finished."""
OPEN_AT_MOST = 5
"""Orders of one person at a time."""


class CannotOrder(ValueError):
    """A board that cannot be ordered now. The message says why."""


def order(tournament: Tournament, rubric: Rubric, asked: BoardSettings, person: User) -> BoardOrder:
    """Puts a board on the list; the same one twice is once. `work_through` does it. Raises CannotOrder."""
    same = {"tournament": tournament, "rubric": rubric, "asked": asked.to_json(), "ended_at": None}
    if BoardOrder.objects.filter(ordered_by=person, ended_at=None).count() >= OPEN_AT_MOST:
        said = gettext("%(n)s boards that you asked for are still to be worked out: wait for one of them.")
        raise CannotOrder(said % {"n": OPEN_AT_MOST})
    try:
        with transaction.atomic():
            return BoardOrder.objects.create(**same, ordered_by=person)
    except IntegrityError:
        return BoardOrder.objects.filter(**same).first() or order(tournament, rubric, asked, person)


def open_order(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> BoardOrder | None:
    """The order that this board waits for."""
    return BoardOrder.objects.filter(tournament=tournament, rubric=rubric, asked=asked.to_json(), ended_at=None).first()


def last_problem(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> str:
    """Why the last order of this board came to nothing; empty where it did not."""
    rows = BoardOrder.objects.filter(tournament=tournament, rubric=rubric, asked=asked.to_json())
    ended = rows.filter(ended_at__isnull=False).order_by("-ended_at").first()
    return "" if ended is None else ended.problem


def work_through() -> int:
    """Works out boards that are due, for a while: orders first. How many. What is left, or was being done by who was
    killed, the next call does."""
    end, done = time.monotonic() + WORKED_SECONDS, 0
    for work in _work():
        if time.monotonic() > end:
            break
        work()
        done += 1
    return done


def _work() -> Iterator[Callable[[], None]]:
    ordered = BoardOrder.objects.filter(ended_at=None).select_related("tournament", "rubric__criterion")
    yield from (partial(_fill, one) for one in ordered.order_by("pk"))
    yield from (partial(_renew, *one) for one in _due())


def _renew(tournament: Tournament, rubric: Rubric) -> None:
    try:
        keep(tournament, rubric)
    except Exception:
        log.exception("The board of tournament %s by %s cannot be worked out now", tournament.pk, rubric)


def _fill(one: BoardOrder) -> None:
    rows = BoardOrder.objects.filter(pk=one.pk)
    rows.update(begun_at=timezone.now())
    problem = ""
    try:
        keep(one.tournament, one.rubric, BoardSettings.of(one.asked))
    except ValueError as error:
        problem = str(error)
    except Exception:
        log.exception("Order %s of a board cannot be worked out", one.pk)
        problem = gettext("It could not be worked out; whoever runs the site finds in the log why.")
    rows.update(ended_at=timezone.now(), problem=problem)


def _due() -> Iterator[tuple[Tournament, Rubric]]:
    """Tournaments and rubrics whose usual board is not of now."""
    snapshots = Snapshot.objects.filter(tournament=OuterRef("pk"))
    recent = timezone.now() - LOOKED_AFTER
    looked_after = Q(closed_at=None) | Q(closed_at__gt=recent) | Q(created_at__gt=recent) | ~Exists(snapshots)
    tournaments = Tournament.objects.filter(looked_after, deleted_at=None).in_bulk()
    now = stamps(tournaments)
    kept = _newest(tournaments)
    late = [place for place, stamp in now.items() if place not in kept or _is_late(kept[place], stamp)]
    rubrics = Rubric.objects.select_related("criterion").in_bulk({rubric for _, rubric in late})
    for tournament, rubric in late:
        yield tournaments[tournament], rubrics[rubric]


def _newest(tournaments: dict[int, Tournament]) -> dict[Place, Snapshot]:
    rows = Snapshot.objects.filter(tournament__in=tournaments, asked=USUAL.to_json()).defer("board")
    newest = rows.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(one.tournament_id, one.rubric_id): one for one in newest}


def _is_late(kept: Snapshot, stamp: str) -> bool:
    again_after = MANY_AGAIN_AFTER if kept.votes > MANY else AGAIN_AFTER
    return kept.stamp != stamp and timezone.now() - kept.at > again_after
