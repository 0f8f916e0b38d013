"""Compute the boards that are due: ordered boards first, then outdated boards with default settings."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from judging.boards.settings import DEFAULT_SETTINGS, BoardSettings
from judging.boards.snapshots import BoardKey, board_stamps, save_board
from judging.models import BoardOrder, Rubric, Snapshot, Tournament

log = logging.getLogger(__name__)
LOCK = "esweb works out boards"
MANY_VOTES = 20_000
"""Boards of more votes take seconds, and wait longer until they are computed again."""
UPDATE_INTERVAL, MANY_VOTES_UPDATE_INTERVAL = timedelta(seconds=10), timedelta(minutes=2)
UPDATED_AFTER_CLOSING = timedelta(days=1)
"""After a tournament is closed, its boards are updated for this time; later only if somebody orders one."""
MAX_SECONDS_PER_CALL = 60.0
"""Time limit of one call. A board that was begun within it is still finished."""
MAX_OPEN_ORDERS = 5
"""Limit of open orders for each user."""


class OrderRefused(ValueError):
    """Error: the board cannot be ordered now. The message gives the reason."""


def add_order(tournament: Tournament, rubric: Rubric, settings: BoardSettings, user: User) -> BoardOrder:
    """Queue a board for `compute_due_boards`, and return the order. An open order of the same board is returned again.

    Raise OrderRefused if the user has MAX_OPEN_ORDERS open orders already.
    """
    fields = {"tournament": tournament, "rubric": rubric, "asked": settings.to_json(), "ended_at": None}
    if BoardOrder.objects.filter(ordered_by=user, ended_at=None).count() >= MAX_OPEN_ORDERS:
        message = gettext("%(n)s leaderboards that you ordered are not computed yet: wait for one of them.")
        raise OrderRefused(message % {"n": MAX_OPEN_ORDERS})
    try:
        with transaction.atomic():
            return BoardOrder.objects.create(**fields, ordered_by=user)
    except IntegrityError:
        return BoardOrder.objects.filter(**fields).first() or add_order(tournament, rubric, settings, user)


def open_order(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> BoardOrder | None:
    """Return the open order of this board, or None."""
    return BoardOrder.objects.filter(
        tournament=tournament, rubric=rubric, asked=settings.to_json(), ended_at=None
    ).first()


def last_problem(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> str:
    """Return the problem that ended the last order of this board, or an empty text if there was none."""
    rows = BoardOrder.objects.filter(tournament=tournament, rubric=rubric, asked=settings.to_json())
    last_order = rows.filter(ended_at__isnull=False).order_by("-ended_at").first()
    return "" if last_order is None else last_order.problem


def is_updated_automatically(tournament: Tournament) -> bool:
    """Return whether `compute_due_boards` computes the outdated boards of this tournament that nobody ordered."""
    return _updated_tournaments().filter(pk=tournament.pk).exists()


def compute_due_boards() -> int:
    """Compute boards that are due until MAX_SECONDS_PER_CALL have passed, orders first. Return their number.

    The next call computes the remaining boards, and those of a process that was killed.
    """
    deadline, computed = time.monotonic() + MAX_SECONDS_PER_CALL, 0
    for compute in _due_work():
        if time.monotonic() > deadline:
            break
        compute()
        computed += 1
    return computed


def _due_work() -> Iterator[Callable[[], None]]:
    ordered = BoardOrder.objects.filter(ended_at=None).select_related("tournament", "rubric__criterion")
    yield from (partial(_compute_ordered_board, order) for order in ordered.order_by("pk"))
    yield from (partial(_compute_default_board, *order) for order in _outdated_boards())


def _compute_default_board(tournament: Tournament, rubric: Rubric) -> None:
    try:
        save_board(tournament, rubric)
    except Exception:
        log.exception(
            "Board schedule: computing the board of tournament %s by %s failed; the next call retries",
            tournament.pk,
            rubric,
        )


def _compute_ordered_board(order: BoardOrder) -> None:
    rows = BoardOrder.objects.filter(pk=order.pk)
    rows.update(begun_at=timezone.now())
    problem = ""
    try:
        save_board(order.tournament, order.rubric, BoardSettings.parse(order.asked))
    except ValueError as error:
        problem = str(error)
    except Exception:
        log.exception(
            "Board schedule: computing the board of order %s failed; the order is closed with a problem", order.pk
        )
        problem = gettext("It could not be computed. The server's log has the reason.")
    rows.update(ended_at=timezone.now(), problem=problem)


def _outdated_boards() -> Iterator[tuple[Tournament, Rubric]]:
    """Yield the tournaments and rubrics whose board with default settings is outdated."""
    tournaments = _updated_tournaments().in_bulk()
    current_stamps = board_stamps(tournaments)
    newest = _newest_snapshots(tournaments)
    outdated = [key for key, stamp in current_stamps.items() if key not in newest or _is_due(newest[key], stamp)]
    rubrics = Rubric.objects.select_related("criterion").in_bulk({rubric for _, rubric in outdated})
    for tournament, rubric in outdated:
        yield tournaments[tournament], rubrics[rubric]


def _updated_tournaments() -> QuerySet[Tournament]:
    snapshots = Snapshot.objects.filter(tournament=OuterRef("pk"))
    recent = timezone.now() - UPDATED_AFTER_CLOSING
    is_updated = Q(closed_at=None) | Q(closed_at__gt=recent) | Q(created_at__gt=recent) | ~Exists(snapshots)
    return Tournament.objects.filter(is_updated, deleted_at=None)


def _newest_snapshots(tournaments: dict[int, Tournament]) -> dict[BoardKey, Snapshot]:
    rows = Snapshot.objects.filter(tournament__in=tournaments, asked=DEFAULT_SETTINGS.to_json()).defer("board")
    newest = rows.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(snapshot.tournament_id, snapshot.rubric_id): snapshot for snapshot in newest}


def _is_due(snapshot: Snapshot, stamp: str) -> bool:
    interval = MANY_VOTES_UPDATE_INTERVAL if snapshot.votes > MANY_VOTES else UPDATE_INTERVAL
    return snapshot.stamp != stamp and timezone.now() - snapshot.at > interval
