"""Boards over the API: as they were worked out last, and ordered in other ways."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from ninja import P, QueryEx, Schema
from ninja.errors import HttpError
from pydantic import Field

from judging.access import may_vote
from judging.boards.schedule import CannotOrder, last_problem, order
from judging.boards.settings import BoardSettings
from judging.boards.snapshots import board_of, newer
from judging.boards.votes import categories
from judging.http import the_rubric, the_tournament
from judging.models import Rubric, Tournament, rubrics_of
from runs.http import ApiRequest, Input, Invalid, RowId, Word, needs, router
from workers.config import Problem

Finite = Annotated[float, Field(allow_inf_nan=False)]


class BoardOut(Schema):
    """A board as it was worked out `at`. `hash`: equal votes, asked alike, have equal hashes, here and from a file.
    `newer`: verdicts given since. `board`: standings with intervals, what to doubt, win matrix, agreement; and how many
    pairs have identical answers (`identical.pairs` of `identical.of`)."""

    criterion: str
    asked: dict[str, Any]
    hash: str
    votes: int
    newer: int
    at: datetime
    board: dict[str, Any]


class NewOrder(Input):
    """A board to work out: whose verdicts (all, people, judges, judge-7), and how they become ratings.

    `init`: where the mean or the anchor stands. `threshold`: scores that differ by no more are a tie; null: as each
    verdict has it. `k`, `shuffle` (-1 keeps the order) and `failed` (tie or left-out) are of online Elo. `identical`
    (left-out or tie): whether each pair of identical answers counts as a tie.
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
    """It is on the list: read the board after a while."""

    criterion: str
    asked: dict[str, Any]


Said = QueryEx[str, P(max_length=250, pattern=r"^[^\x00]*$")]


@router.get("/tournaments/{pk}/board", response=BoardOut, auth=needs("read"), tags=["judging"], summary="Read a board")
def read_board(
    request: ApiRequest,
    pk: RowId,
    criterion: Said = "",
    whose: Said = "all",
    category: Said = "",
    ties: Said = "",
    swap: Said = "",
    unit: Said = "",
    level: Said = "",
    anchor: Said = "",
    prior: Said = "",
    init: Said = "",
    threshold: Said = "",
    k: Said = "",
    shuffle: Said = "",
    failed: Said = "",
    identical: Said = "",
) -> BoardOut:
    """Ratings with intervals, differences and rank probabilities by one criterion, its first where none is named, as
    they were worked out last, with the board's hash. One asked for in another way than the usual is there once it was
    ordered: 404 until then."""
    found = the_tournament(request.auth, pk)
    rubric = the_rubric(found, criterion)
    said = {"whose": whose, "category": category, "ties": ties, "swap": swap, "unit": unit, "level": level,
            "anchor": anchor, "prior": prior, "init": init, "threshold": threshold, "k": k, "shuffle": shuffle,
            "failed": failed, "identical": identical}  # fmt: skip
    how = _how(found, said)
    kept = board_of(found, rubric, how)
    if kept is None:
        problem = last_problem(found, rubric, how)
        raise Http404(
            f"This board could not be worked out: {problem}" if problem
            else f"This board has not been worked out yet: POST to /api/v1/tournaments/{pk}/board orders it"
        )  # fmt: skip
    return BoardOut(
        criterion=_name(found, rubric), asked=kept.asked, hash=kept.digest, votes=kept.votes,
        newer=newer(found, rubric, how, kept), at=kept.at, board=kept.board,
    )  # fmt: skip


@router.post(
    "/tournaments/{pk}/board",
    response={202: OrderedOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Order a board",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": {"ties": "davidson"}}}}},
)
def order_board(request: ApiRequest, pk: RowId, new: NewOrder) -> tuple[int, OrderedOut]:
    """Has a board worked out, which takes seconds; read it then. Safe to repeat. Needs scope launch."""
    if not may_vote(request.auth.person):
        raise HttpError(403, "Your role is viewer, which orders nothing: ask an admin for the role member")
    found = the_tournament(request.auth, pk)
    rubric = the_rubric(found, new.criterion)
    how = _how(found, new.dict(exclude={"criterion"}))
    try:
        order(found, rubric, how, request.auth.person)
    except CannotOrder as error:
        raise HttpError(409, str(error)) from error
    return 202, OrderedOut(criterion=_name(found, rubric), asked=how.to_json())


def _how(found: Tournament, said: Mapping[str, object]) -> BoardSettings:
    """Raises Invalid."""
    try:
        names = dict.fromkeys(found.contestants.values_list("name", flat=True))
        return BoardSettings.of(said, names, categories(found) if said.get("category") else None)
    except ValueError as error:
        raise Invalid(Problem("", str(error))) from error


def _name(found: Tournament, rubric: Rubric) -> str:
    return rubrics_of(found)[rubric]
