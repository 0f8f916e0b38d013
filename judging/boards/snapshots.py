"""Compute boards and store them: a new snapshot for every board that differs from the one before.

Of the board with default settings, enough snapshots stay to plot its history; of any other board only the newest.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import timedelta
from hashlib import sha256
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet

from judging.boards.report import by_category, report
from judging.boards.settings import USUAL, BoardSettings
from judging.boards.votes import verdicts_in, votes_in
from judging.models import Calibration, Rubric, Snapshot, Tournament, Verdict
from judging.stats.agreement import MERGING, swaps
from judging.stats.ratings import POSITION
from judging.stats.votes import MISSING, Votes

SHAPE = 4
"""Version of stored boards: boards of an older version are computed again."""
HISTORY_STEP = timedelta(minutes=10)
"""Shortest time between two boards of the history, except before the newest."""
STANDINGS = "board__board__standings"
Place = tuple[int, int]
"""Identity of a board: (tournament, rubric), by their ids."""


def board_of(tournament: Tournament, rubric: Rubric, asked: BoardSettings = USUAL) -> Snapshot | None:
    """Return the newest snapshot of the board, or None if it was never computed."""
    return _kept(tournament, rubric, asked).first()


def keep(tournament: Tournament, rubric: Rubric, asked: BoardSettings = USUAL) -> Snapshot:
    """Compute a board and store it. If it equals the stored one, update and return that snapshot.

    Raise ValueError if the anchor is not one of the contestants.
    """
    # Taken first: what changes meanwhile makes the board old at once, not unnoticed.
    stamp = stamps([tournament.pk]).get((tournament.pk, rubric.pk), "")
    votes = _votes(tournament, rubric, asked)
    last = verdicts_in(tournament, rubric, whose=asked.whose).aggregate(last=Max("pk"))["last"]
    found = report(rubric.criterion.slug, votes, asked.asked, asked.swap, _controls(votes, asked.swap), asked.elo)
    said = found.to_json() | {"failed": _failed(votes), "categories": _by_category(votes, asked)}
    said["identical"] = _identical(tournament)
    with transaction.atomic():
        # Two at once would both see that there is none.
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        newest = _kept(tournament, rubric, asked).first()
        if newest is not None and (newest.digest, newest.last_verdict) == (found.board.hash, last):
            # Of equal ratings, too, a newer version may keep more.
            newest.board, newest.stamp = said, stamp
            newest.save(update_fields=["board", "stamp"])
            return newest
        made = Snapshot.objects.create(
            tournament=tournament, rubric=rubric, asked=asked.to_json(),
            board=said, votes=len(votes), last_verdict=last, digest=found.board.hash, stamp=stamp,
        )  # fmt: skip
        _thin_out(tournament, rubric, asked)
    return made


def stamps(tournaments: Collection[int]) -> dict[Place, str]:
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
    calibrated = _calibrated()
    return {(pk, rubric): _digest([SHAPE, *said, calibrated.get(rubric)]) for pk, rubric, *said in counted}


def newer(tournament: Tournament, rubric: Rubric, asked: BoardSettings, snapshot: Snapshot) -> int:
    """Return the number of verdicts that were given after the snapshot."""
    return verdicts_in(tournament, rubric, whose=asked.whose).filter(pk__gt=snapshot.last_verdict or 0).count()


def history_of(tournament: Tournament, rubric: Rubric) -> QuerySet[Snapshot]:
    """Return the snapshots of the board with default settings, the oldest first."""
    return _kept(tournament, rubric, USUAL).order_by("at", "pk")


def leading(tournaments: Collection[int]) -> dict[Place, list[dict[str, Any]]]:
    """Return the standings of each newest board with default settings, the best contestant first.

    One query, for any number of tournaments.
    """
    rows = Snapshot.objects.filter(tournament__in=tournaments, asked=USUAL.to_json())
    newest = rows.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(pk, rubric): said for pk, rubric, said in newest.values_list("tournament", "rubric", STANDINGS)}


def _kept(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(tournament=tournament, rubric=rubric, asked=asked.to_json()).order_by("-at", "-pk")


def _votes(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> Votes:
    ties = asked.identical == "tie"
    votes = votes_in(tournament, rubric, whose=asked.whose, tie_threshold=asked.threshold, identical_as_ties=ties)
    if not asked.category:
        return votes
    return votes.where(votes.categories.get(asked.category, np.zeros(len(votes), np.bool_)))


def _by_category(votes: Votes, asked: BoardSettings) -> Any:
    found = None if asked.category else by_category(votes, asked.asked, asked.swap)
    return found and found.to_json()


def _controls(votes: Votes, swap: str) -> list[str]:
    """Return the controls, position and length, that vary between the votes: a constant explains nothing.

    Position is left out if the swap policy merges two games into one vote, because such a vote has no first position.
    """
    length = votes.features["length"]
    has_sides = swap not in MERGING or not len(swaps(votes).games)
    said = {POSITION: has_sides and (votes.shown_first != 0).any(), "length": (length[np.isfinite(length)] != 0).any()}
    return [name for name, says in said.items() if says]


def _identical(tournament: Tournament) -> dict[str, int]:
    """Return the number of pairs with identical responses, and the number of all pairs."""
    met = tournament.comparisons.between_contestants()
    return met.aggregate(pairs=Count("pk", filter=Q(is_identical=True)), of=Count("pk"))


def _failed(votes: Votes) -> list[int]:
    """Return the number of failed judgments of each contestant's responses, by the contestants' numbers.

    A judge's refusal depends on the responses that it judges.
    """
    failed = votes.where(np.isin(votes.outcome, MISSING))
    counted = np.bincount(np.concatenate([failed.a, failed.b]), minlength=len(votes.contestants))
    return [int(number) for number in counted]


def _thin_out(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> None:
    rows = list(_kept(tournament, rubric, asked).defer("board")[:3])
    if not asked.is_usual:
        _kept(tournament, rubric, asked).exclude(pk=rows[0].pk).delete()
    elif len(rows) == 3 and rows[1].at - rows[2].at < HISTORY_STEP:
        rows[1].delete()


def _calibrated() -> dict[int, list[Any]]:
    rows = Calibration.objects.order_by().values_list("rubric").annotate(Max("pk"), Count("pk"))
    return {rubric: said for rubric, *said in rows}


def _digest(said: Any) -> str:
    return sha256(json.dumps(said, default=str).encode()).hexdigest()
