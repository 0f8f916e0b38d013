"""API endpoints of boards: read the board computed last, and order a board with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import P, QueryEx, Schema
from ninja.errors import HttpError
from pydantic import Field

from judging.access import may_vote
from judging.boards.schedule import OrderRefused, add_order, last_problem
from judging.boards.settings import BoardSettings
from judging.boards.snapshots import count_newer_verdicts, newest_snapshot
from judging.boards.votes import categories
from judging.boards.win_rates import add_win_rates
from judging.http import get_rubric, get_tournament
from judging.models import Rubric, Tournament, rubrics_of
from runs.http import ApiRequest, Input, Invalid, RowId, Word, needs, router
from workers.config import Problem

Finite = Annotated[float, Field(allow_inf_nan=False)]


class BoardOut(Schema):
    """A board, computed at the time `at`.

    `hash`: equal votes with equal settings have equal hashes, here and from a file. `newer`: the number of verdicts
    given since. `board`: standings with intervals, diagnostics, win matrix and agreement, the number of pairs with
    identical responses (`identical.pairs` of `identical.of`), and each contestant's win rate with Wilson's interval
    (`win_rates`, in the order of `contestants`; null without votes).
    """

    criterion: str
    asked: dict[str, Any]
    hash: str
    votes: int
    newer: int
    at: datetime
    board: dict[str, Any]


class NewOrder(Input):
    """Settings of a board to compute: which verdicts count, and how they become ratings.

    `whose`: all, people, judges or judge-7. `init`: the rating of the mean or of the anchor. `threshold`: scores that
    differ by no more are a tie; null: each verdict's own outcome counts. `k`, `shuffle` (-1 keeps the order) and
    `failed` (tie or left-out) apply to online Elo. `identical` (left-out or tie): whether each pair of identical
    responses counts as a tie.
    """

    criterion: Word = ""
    whose: Word = "all"
    category: Word = ""
    ties: Word = ""
    swap: Word = ""
    unit: Word = ""
    level: Finite = 0.95
    anchor: Word = ""
    prior: Finite = 0.0
    init: Finite = 1000.0
    threshold: Finite | None = None
    k: Finite = 32.0
    shuffle: int = 123
    failed: Word = ""
    identical: Word = ""


class OrderedOut(Schema):
    """Confirmation that the board is queued. Read the board after a while."""

    criterion: str
    asked: dict[str, Any]


QueryText = QueryEx[str, P(max_length=250, pattern=r"^[^\x00]*$")]


@router.get(
    "/tournaments/{pk}/board", response=BoardOut, auth=needs("read"), tags=["judging"], summary="Read a leaderboard"
)
def read_board(
    request: ApiRequest,
    pk: RowId,
    criterion: QueryText = "",
    whose: QueryText = "all",
    category: QueryText = "",
    ties: QueryText = "",
    swap: QueryText = "",
    unit: QueryText = "",
    level: QueryText = "",
    anchor: QueryText = "",
    prior: QueryText = "",
    init: QueryText = "",
    threshold: QueryText = "",
    k: QueryText = "",
    shuffle: QueryText = "",
    failed: QueryText = "",
    identical: QueryText = "",
) -> BoardOut:
    """Return the board of one criterion as it was computed last: ratings with intervals, differences, rank
    probabilities and the board's hash. Without `criterion`, return that of the tournament's first. A board with other
    settings than the defaults exists only after it was ordered: 404 until then."""
    tournament = get_tournament(request.auth, pk)
    rubric = get_rubric(tournament, criterion)
    params = {"whose": whose, "category": category, "ties": ties, "swap": swap, "unit": unit, "level": level,
            "anchor": anchor, "prior": prior, "init": init, "threshold": threshold, "k": k, "shuffle": shuffle,
            "failed": failed, "identical": identical}  # fmt: skip
    settings = _parse_settings(tournament, params)
    snapshot = newest_snapshot(tournament, rubric, settings)
    if snapshot is None:
        problem = last_problem(tournament, rubric, settings)
        raise Http404(
            f"This leaderboard could not be computed: {problem}" if problem
            else f"This leaderboard has not been computed yet. Order it with POST /api/v1/tournaments/{pk}/board"
        )  # fmt: skip
    return BoardOut(
        criterion=_criterion_name(tournament, rubric), asked=snapshot.asked, hash=snapshot.digest, votes=snapshot.votes,
        newer=count_newer_verdicts(tournament, rubric, settings, snapshot), at=snapshot.at,
        board=add_win_rates(snapshot.board),
    )  # fmt: skip


@router.post(
    "/tournaments/{pk}/board",
    response={202: OrderedOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Order a leaderboard",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": {"ties": "davidson"}}}}},
)
def order_board(request: ApiRequest, pk: RowId, new: NewOrder) -> tuple[int, OrderedOut]:
    """Order a board to be computed, which takes seconds; then read it. Safe to repeat. Needs scope launch."""
    if not may_vote(request.auth.person):
        raise HttpError(403, "Your role is viewer, which cannot order leaderboards. Ask an admin for the role member")
    tournament = get_tournament(request.auth, pk)
    rubric = get_rubric(tournament, new.criterion)
    settings = _parse_settings(tournament, new.dict(exclude={"criterion"}))
    try:
        add_order(tournament, rubric, settings, request.auth.person)
    except OrderRefused as error:
        raise HttpError(409, str(error)) from error
    return 202, OrderedOut(criterion=_criterion_name(tournament, rubric), asked=settings.to_json())


def _parse_settings(tournament: Tournament, params: Mapping[str, object]) -> BoardSettings:
    """Parse the settings of a board. Raise Invalid if a value is not valid."""
    try:
        names = dict.fromkeys(tournament.contestants.values_list("name", flat=True))
        return BoardSettings.parse(params, names, categories(tournament) if params.get("category") else None)
    except ValueError as error:
        raise Invalid(Problem("", str(error))) from error


def _criterion_name(tournament: Tournament, rubric: Rubric) -> str:
    return rubrics_of(tournament)[rubric]
