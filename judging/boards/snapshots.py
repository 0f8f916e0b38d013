"""Compute boards and store them: a new snapshot for every board that differs from the one before.

Of the board with default settings, enough snapshots stay to plot its history; of any other board only the newest.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet

from judging.boards.report import build_report, rate_by_category
from judging.boards.settings import DEFAULT_SETTINGS, BoardSettings
from judging.boards.votes import verdicts_in, votes_in
from judging.models import Calibration, Rubric, Snapshot, Tournament, Verdict
from judging.stats.agreement import MERGING, find_swaps
from judging.stats.ratings import POSITION
from judging.stats.votes import MISSING, Votes

FORMAT_VERSION = 5
"""Version of stored boards: boards of an older version are computed again."""
HISTORY_STEP = timedelta(minutes=10)
"""Shortest time between two boards of the history, except before the newest."""
STANDINGS = "board__board__standings"
BoardKey = tuple[int, int]
"""Identity of a board: (tournament, rubric), by their ids."""


def newest_snapshot(
    tournament: Tournament, rubric: Rubric, settings: BoardSettings = DEFAULT_SETTINGS
) -> Snapshot | None:
    """Return the newest snapshot of the board, or None if it was never computed."""
    return _snapshots(tournament, rubric, settings).first()


def save_board(tournament: Tournament, rubric: Rubric, settings: BoardSettings = DEFAULT_SETTINGS) -> Snapshot:
    """Compute a board and store it. If it equals the stored one, update and return that snapshot.

    Raise ValueError if the anchor is not one of the contestants.
    """
    # The stamp is read first, so that a change during the computation makes the board outdated.
    stamp = board_stamps([tournament.pk]).get((tournament.pk, rubric.pk), "")
    votes = _votes(tournament, rubric, settings)
    last = verdicts_in(tournament, rubric, verdict_filter=settings.whose).aggregate(last=Max("pk"))["last"]
    board_report = build_report(
        rubric.criterion.slug,
        votes,
        settings.rating_options,
        settings.swap,
        _controls(votes, settings.swap),
        settings.elo,
    )
    board = board_report.to_json() | {"failed": _failed(votes), "categories": _by_category(votes, settings)}
    board["identical"] = _identical(tournament)
    with transaction.atomic():
        # Without this lock, two concurrent calls would both find no snapshot and create one.
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        newest = _snapshots(tournament, rubric, settings).first()
        if newest is not None and (newest.digest, newest.last_verdict) == (board_report.board.hash, last):
            # With equal ratings, too, a newer version may store more.
            newest.board, newest.stamp = board, stamp
            newest.save(update_fields=["board", "stamp"])
            return newest
        snapshot = Snapshot.objects.create(
            tournament=tournament, rubric=rubric, asked=settings.to_json(),
            board=board, votes=len(votes), last_verdict=last, digest=board_report.board.hash, stamp=stamp,
        )  # fmt: skip
        _delete_superseded(tournament, rubric, settings)
    return snapshot


def board_stamps(tournaments: Collection[int]) -> dict[BoardKey, str]:
    """Return a hash for each board of these tournaments that has a verdict; it changes with the data of the board.

    Two queries, for any number of tournaments.
    """
    counted = (
        Verdict.objects.filter(comparison__tournament__in=tournaments)
        .order_by()
        .values("comparison__tournament", "rubric")
        .annotate(last=Max("pk"), holding=Count("pk", filter=Q(replaced_at=None)), gone=Max("replaced_at"))
        .values_list("comparison__tournament", "rubric", "last", "holding", "gone")
    )
    calibrated = _calibration_stamps()
    return {(pk, rubric): _digest([FORMAT_VERSION, *counts, calibrated.get(rubric)]) for pk, rubric, *counts in counted}


def count_newer_verdicts(tournament: Tournament, rubric: Rubric, settings: BoardSettings, snapshot: Snapshot) -> int:
    """Return the number of verdicts that were given after the snapshot."""
    return newer_verdicts(tournament, rubric, settings, snapshot)[0]


def newer_verdicts(
    tournament: Tournament, rubric: Rubric, settings: BoardSettings, snapshot: Snapshot | None
) -> tuple[int, datetime | None]:
    """Return (the number of verdicts after the snapshot, the time of the first of them); of all verdicts if None."""
    last = 0 if snapshot is None else snapshot.last_verdict or 0
    newer = verdicts_in(tournament, rubric, verdict_filter=settings.whose).filter(pk__gt=last)
    count, first = newer.aggregate(n=Count("pk"), first=Min("at")).values()
    return count, first


def snapshot_history(tournament: Tournament, rubric: Rubric) -> QuerySet[Snapshot]:
    """Return the snapshots of the board with default settings, the oldest first."""
    return _snapshots(tournament, rubric, DEFAULT_SETTINGS).order_by("at", "pk")


def newest_standings(tournaments: Collection[int]) -> dict[BoardKey, list[dict[str, Any]]]:
    """Return the standings of each newest board with default settings, the best contestant first.

    One query, for any number of tournaments.
    """
    rows = Snapshot.objects.filter(tournament__in=tournaments, asked=DEFAULT_SETTINGS.to_json())
    newest = rows.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(pk, rubric): standings for pk, rubric, standings in newest.values_list("tournament", "rubric", STANDINGS)}


def _snapshots(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(tournament=tournament, rubric=rubric, asked=settings.to_json()).order_by(
        "-at", "-pk"
    )


def _votes(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> Votes:
    ties = settings.identical == "tie"
    votes = votes_in(
        tournament, rubric, verdict_filter=settings.whose, tie_threshold=settings.threshold, identical_as_ties=ties
    )
    if settings.category:
        votes = votes.select(votes.categories.get(settings.category, np.zeros(len(votes), np.bool_)))
    return votes


def _by_category(votes: Votes, settings: BoardSettings) -> Any:
    by_category_report = None if settings.category else rate_by_category(votes, settings.rating_options, settings.swap)
    return by_category_report and by_category_report.to_json()


def _controls(votes: Votes, swap: str) -> list[str]:
    """Return the controls, position and length, that vary between the votes: a constant explains nothing.

    Position is left out if the swap policy merges two games into one vote, because such a vote has no first position.
    """
    length = votes.features["length"]
    has_sides = swap not in MERGING or not len(find_swaps(votes).games)
    varies = {
        POSITION: has_sides and (votes.shown_first != 0).any(),
        "length": (length[np.isfinite(length)] != 0).any(),
    }
    return [name for name, is_varying in varies.items() if is_varying]


def _identical(tournament: Tournament) -> dict[str, int]:
    """Return the number of pairs with identical responses, and the number of all pairs."""
    met = tournament.comparisons.between_contestants()
    return met.aggregate(pairs=Count("pk", filter=Q(is_identical=True)), of=Count("pk"))


def _failed(votes: Votes) -> list[int]:
    """Return the number of failed judgments of each contestant's responses, by the contestants' numbers.

    A judge's refusal depends on the responses that it judges.
    """
    failed = votes.select(np.isin(votes.outcome, MISSING))
    counted = np.bincount(np.concatenate([failed.a, failed.b]), minlength=len(votes.contestants))
    return [int(number) for number in counted]


def _delete_superseded(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> None:
    rows = list(_snapshots(tournament, rubric, settings).defer("board")[:3])
    if not settings.is_default:
        _snapshots(tournament, rubric, settings).exclude(pk=rows[0].pk).delete()
    elif len(rows) == 3 and rows[1].at - rows[2].at < HISTORY_STEP:
        rows[1].delete()


def _calibration_stamps() -> dict[int, list[Any]]:
    rows = Calibration.objects.order_by().values_list("rubric").annotate(Max("pk"), Count("pk"))
    return {rubric: stamp for rubric, *stamp in rows}


def _digest(values: Any) -> str:
    return sha256(json.dumps(values, default=str).encode()).hexdigest()
