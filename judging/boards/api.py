"""API endpoints of boards: read the board computed last, and order a board with other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import Schema
from ninja.errors import HttpError
from ninja.params.functions import Query
from ninja.utils import contribute_operation_args
from pydantic import Field

from judging.access import may_vote
from judging.boards.schedule import OrderRefused, add_order, last_problem
from judging.boards.setting import Setting
from judging.boards.settings import SETTINGS, BoardSettings
from judging.boards.snapshots import count_newer_verdicts, newest_snapshot
from judging.boards.votes import parse_settings
from judging.boards.win_rates import add_win_rates
from judging.http import get_rubric, get_tournament
from judging.models import Rubric, Tournament, rubrics_of
from runs.http import NO_NUL, ApiRequest, Input, Invalid, Output, RowId, Word, needs, router, with_fields
from workers.config import Problem

Finite = Annotated[float, Field(allow_inf_nan=False)]


class BoardOut(Output):
    """A board, computed at the time `at`.

    `hash`: equal votes with equal settings have equal hashes, here and from a file. `newer`: the number of verdicts
    given since. `board`: standings with intervals, diagnostics, win matrix and agreement, the number of pairs with
    identical responses (`identical.pairs` of `identical.of`), and each contestant's win rate with Wilson's interval
    (`win_rates`, in the order of `contestants`; null without votes).
    """

    criterion: str
    asked: dict[str, Any]
    hash: str = Field(validation_alias="digest")
    votes: int
    newer: int
    at: datetime
    board: dict[str, Any]


def _with_parameters(view: Callable[..., BoardOut]) -> Callable[..., BoardOut]:
    """Add a parameter of the URL to a view for each setting of a board."""
    for name, setting in SETTINGS.items():
        parameter = Query("", max_length=250, pattern=NO_NUL, description=setting.description)
        contribute_operation_args(view, name, str, parameter)
    return view


def _json_field(setting: Setting) -> tuple[Any, Any]:
    """Return type, default and description of a setting in JSON. An empty text stands for the default choice."""
    kind: Any = int if isinstance(setting.default, int) else Finite if setting.default is not None else Finite | None
    default: Any = setting.default
    if setting.bounds is None:
        kind, default = Word, "" if setting.choices else str(setting.default)
    return kind, Field(default, description=setting.description)


@with_fields({name: _json_field(setting) for name, setting in SETTINGS.items()})
class NewOrder(Input):
    """Settings of a board to compute: which verdicts count, and how they become ratings.

    `whose`: all, people, judges or judge-7.
    """

    criterion: Word = ""


class OrderedOut(Schema):
    """Confirmation that the board is queued. Read the board after a while."""

    criterion: str
    asked: dict[str, Any]


@router.get(
    "/tournaments/{pk}/board", response=BoardOut, auth=needs("read"), tags=["judging"], summary="Read a leaderboard"
)
@_with_parameters
def read_board(request: ApiRequest, pk: RowId, criterion: Word = "", **params: str) -> BoardOut:
    """Return the board of one criterion as it was computed last: ratings with intervals, differences, rank
    probabilities and the board's hash. Without `criterion`, return that of the tournament's first. A board with other
    settings than the defaults exists only after it was ordered: 404 until then."""
    tournament = get_tournament(request.auth, pk)
    rubric = get_rubric(tournament, criterion)
    settings = _parse_settings(tournament, params)
    snapshot = newest_snapshot(tournament, rubric, settings)
    if snapshot is None:
        problem = last_problem(tournament, rubric, settings)
        raise Http404(
            f"This leaderboard could not be computed: {problem}" if problem
            else f"This leaderboard has not been computed yet. Order it with POST /api/v1/tournaments/{pk}/board"
        )  # fmt: skip
    newer = count_newer_verdicts(tournament, rubric, settings, snapshot)
    criterion_name, board = _criterion_name(tournament, rubric), add_win_rates(snapshot.board)
    return BoardOut.from_row(snapshot, criterion=criterion_name, newer=newer, board=board)


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
        return parse_settings(tournament, params)
    except ValueError as error:
        raise Invalid(Problem("", str(error))) from error


def _criterion_name(tournament: Tournament, rubric: Rubric) -> str:
    return rubrics_of(tournament)[rubric]
