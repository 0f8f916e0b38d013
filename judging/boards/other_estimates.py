"""Turn a stored board's other estimates into the rows of the page and of files: controlled ratings and online Elo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import POINTS, SIGNED_POINTS, BoardData, format_elo, format_percent
from judging.boards.tables import ranked_indices
from judging.stats.ratings import ELO_PER_NAT, POSITION
from runs.tables import Cell, Column, Mean, NumberStyle, Table


def controlled_ratings(board: BoardData) -> dict[str, Any]:
    """Return ratings without the effects of position and length, next to the board's, or why there are none."""
    controlled = board["controlled"]
    if not isinstance(controlled, dict):
        return {"reason": controlled or ""}
    effects = [_effect(name, effect) for name, effect in controlled["effects"].items()]
    return {
        "effects": effects, "left_out": controlled["left_out"], "is_one_scale": _is_one_scale(board),
        "table": controlled_table(board).select("contestant", "rating", "controlled_rating", "error", "change"),
    }  # fmt: skip


def online_elo(board: BoardData) -> dict[str, Any] | None:
    """Return online Elo of one order and of many others, or None if the board has none."""
    online = board["online_elo"]
    if online is None:
        return None
    orders = online["orders"]
    return {
        "elo": online["elo"], "orders": orders["orders"], "same_ranking": format_percent(orders["kept"]),
        "table": online_table(board).select("contestant", "single", "mean", "std", "spread"),
    }  # fmt: skip


def controlled_table(board: BoardData, order: Sequence[int] = ()) -> Table:
    """Return the ratings without the effects of position and length, with their standard errors, next to the board's;
    no rows if the board has none. order: the contestants' numbers, that of the board if it is empty."""
    columns = (
        Column("contestant", gettext("Contestant"), str),
        Column("rating", gettext("Rating"), style=POINTS),
        Column("controlled", kind=Mean, style=POINTS, parts=("controlled mean", "controlled se")),
        Column("controlled_rating", gettext("Controlled"), style=POINTS),
        Column("error", "±", style=NumberStyle(POINTS.page, "± {:.0f}".format, rounds=True)),
        Column("change", gettext("Change"), style=SIGNED_POINTS),
    )
    return Table(columns, tuple(_controlled_rows(board, order or ranked_indices(board))))


def online_table(board: BoardData) -> Table:
    """Return online Elo of one order; of many other orders the mean, the standard deviation, and the highest minus the
    lowest; no rows if the board has none."""
    columns = (
        Column("contestant", gettext("Contestant"), str),
        Column("single", gettext("This order"), style=POINTS),
        Column("orders", kind=Mean, style=POINTS, parts=("orders mean", "orders std")),
        Column("mean", gettext("Mean of orders"), style=POINTS),
        Column("std", gettext("Standard deviation"), style=POINTS),
        Column("spread", gettext("Highest − lowest"), style=POINTS, parts=("orders spread",)),
    )
    return Table(columns, tuple(_online_rows(board)))


def _controlled_rows(board: BoardData, order: Sequence[int]) -> Iterator[tuple[Cell, ...]]:
    controlled = board["controlled"]
    if not isinstance(controlled, dict):
        return
    init, board_ratings, is_one_scale = board["board"]["asked"]["init"], _ratings(board), _is_one_scale(board)
    for k in order:
        rating = init + ELO_PER_NAT * controlled["theta"][k]
        error = ELO_PER_NAT * max(controlled["covariance"][k][k], 0) ** 0.5
        board_rating = board_ratings[k]
        change = rating - board_rating if is_one_scale and board_rating is not None else None
        yield board["contestants"][k], board_rating, Mean(rating, error), rating, error, change


def _is_one_scale(board: BoardData) -> bool:
    # Controls are fitted with ties as half wins and no prior; ratings of any other board have another scale.
    return board["board"]["asked"]["ties"] == "half-win" and not board["board"]["asked"]["prior"]


def _online_rows(board: BoardData) -> Iterator[tuple[Cell, ...]]:
    online = board["online_elo"]
    if online is None:
        return
    single, orders = online["single"], online["orders"]
    for k in sorted(range(len(single)), key=lambda k: -single[k]):
        mean, std = orders["mean"][k], orders["sd"][k]
        yield board["contestants"][k], single[k], Mean(mean, std), mean, std, orders["spread"][k]


def _effect(name: str, effect: BoardData) -> str:
    params = {
        "elo": format_elo(effect["value"] * ELO_PER_NAT, signed=True),
        "error": format_elo(effect["error"] * ELO_PER_NAT),
    }
    if name == POSITION:
        return gettext("Being first is worth %(elo)s ± %(error)s Elo.") % params
    return gettext("A response that is one standard deviation longer gains %(elo)s ± %(error)s Elo.") % params


def _ratings(board: BoardData) -> list[float | None]:
    ratings = {row["contestant"]: row["rating"] and row["rating"]["value"] for row in board["board"]["standings"]}
    return [ratings[name] for name in board["contestants"]]
