"""Boards, and how they are asked for, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from runs.api.shapes.words import Input, Word

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
