"""Turn a stored board's other estimates into the rows of the page and of files: controlled ratings and online Elo."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import BoardData, format_elo, format_percent
from judging.boards.tables import ranked_indices
from judging.stats.ratings import ELO_PER_NAT, POSITION
from runs.charts import Table

CONTROLLED_COLUMNS = ("contestant", "rating", "controlled mean", "controlled se", "change")
"""The board's rating; the rating without the effects of position and length, with its standard error; the change."""
ONLINE_COLUMNS = ("contestant", "single", "orders mean", "orders std", "orders spread")
"""Online Elo of one order; of many other orders the mean, the standard deviation, and the highest minus the lowest."""
SIGNED = {"change"}
Row = tuple[str, *tuple[float | None, ...]]


def controlled_ratings(board: BoardData) -> dict[str, Any]:
    """Return ratings without the effects of position and length, next to the board's, or why there are none."""
    controlled = board["controlled"]
    if not isinstance(controlled, dict):
        return {"reason": controlled or ""}
    effects = [_effect(name, effect) for name, effect in controlled["effects"].items()]
    rows = _format_rows(CONTROLLED_COLUMNS, _controlled_rows(board))
    return {
        "effects": effects, "rows": rows, "left_out": controlled["left_out"], "is_one_scale": _is_one_scale(board),
    }  # fmt: skip


def online_elo(board: BoardData) -> dict[str, Any] | None:
    """Return online Elo of one order and of many others, or None if the board has none."""
    online = board["online_elo"]
    if online is None:
        return None
    orders = online["orders"]
    return {
        "elo": online["elo"], "rows": _format_rows(ONLINE_COLUMNS, _online_rows(board)), "orders": orders["orders"],
        "same_ranking": format_percent(orders["kept"]),
    }  # fmt: skip


def controlled_table(board: BoardData) -> Table:
    """Return the controlled ratings with all digits; no rows if the board has none."""
    return Table(CONTROLLED_COLUMNS, tuple(_controlled_rows(board)))


def online_table(board: BoardData) -> Table:
    """Return online Elo with all digits; no rows if the board has none."""
    return Table(ONLINE_COLUMNS, tuple(_online_rows(board)))


def _controlled_rows(board: BoardData) -> list[Row]:
    controlled = board["controlled"]
    if not isinstance(controlled, dict):
        return []
    init, board_ratings, is_one_scale = board["board"]["asked"]["init"], _ratings(board), _is_one_scale(board)
    rows: list[Row] = []
    for k in ranked_indices(board):
        rating = init + ELO_PER_NAT * controlled["theta"][k]
        error = ELO_PER_NAT * max(controlled["covariance"][k][k], 0) ** 0.5
        board_rating = board_ratings[k]
        change = rating - board_rating if is_one_scale and board_rating is not None else None
        rows.append((board["contestants"][k], board_rating, rating, error, change))
    return rows


def _is_one_scale(board: BoardData) -> bool:
    # Controls are fitted with ties as half wins and no prior; ratings of any other board have another scale.
    return board["board"]["asked"]["ties"] == "half-win" and not board["board"]["asked"]["prior"]


def _online_rows(board: BoardData) -> list[Row]:
    online = board["online_elo"]
    if online is None:
        return []
    orders = online["orders"]
    columns = (online["single"], orders["mean"], orders["sd"], orders["spread"])
    best = sorted(range(len(online["single"])), key=lambda k: -online["single"][k])
    return [(board["contestants"][k], *(column[k] for column in columns)) for k in best]


def _format_rows(columns: Iterable[str], rows: Iterable[Row]) -> list[tuple[str, ...]]:
    _, *names = columns
    return [
        (contestant, *(format_elo(value, signed=name in SIGNED) for name, value in zip(names, values, strict=True)))
        for contestant, *values in rows
    ]


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
