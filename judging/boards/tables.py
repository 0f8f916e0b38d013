"""Turn a stored board into the rows of standings, pairs, ranks and wins that a page shows. Compute no ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judging.boards.format import (
    BoardData,
    format_chance,
    format_count,
    format_elo,
    format_interval,
    format_percent,
    format_ranks,
)
from judging.boards.win_rates import WinRate, standing_win_rate


@dataclass(frozen=True)
class BoardRow:
    """Row of the board, as texts. `name` is the contestant's name in rows and charts."""

    rank: int
    name: str
    group: int
    rating: str
    interval_text: str
    anchored: str
    anchored_interval: str
    votes: str
    won: str
    lost: str
    tied: str
    best: str
    ranks: str
    ahead: str
    ahead_interval: str
    failed: int
    """Number of failed judgments of its responses."""
    win_rate: WinRate | None
    """None if no vote counts."""


@dataclass(frozen=True)
class WinCell:
    """Result of the row against the column: the share of games won, with ties as half, its interval and the games."""

    share: str
    interval_text: str
    games: str
    tint: int
    """Distance of the share from a half, from -5 to 5."""


def standing_rows(board: BoardData) -> list[BoardRow]:
    """Return the rows of the board, the best contestant first."""
    failed = dict(zip(board["contestants"], board["failed"], strict=True))
    return [
        _standing_row(rank, row, failed[row["contestant"]], standing_win_rate(board, row))
        for rank, row in enumerate(board["board"]["standings"], 1)
    ]


def _standing_row(rank: int, row: BoardData, failed: int, won_share: WinRate | None) -> BoardRow:
    rating, anchored, ahead = row["rating"], row["anchored"], row["ahead"]
    votes, won, lost, tied = (format_count(row["record"][key]) for key in ("votes", "wins", "losses", "ties"))
    return BoardRow(
        rank, row["contestant"], row["group"], format_elo(rating and rating["value"]), format_interval(rating),
        format_elo(anchored and anchored["value"]), format_interval(anchored), votes, won, lost, tied,
        format_chance(row["p_first"]), format_ranks(row["rank_range"]),
        format_elo(ahead and ahead["by"]["value"], signed=True),
        format_interval(ahead and ahead["by"], signed=True), failed, won_share,
    )  # fmt: skip


def ranked_indices(board: BoardData) -> list[int]:
    """Return the contestants' numbers in the order of the board."""
    number = {name: k for k, name in enumerate(board["contestants"])}
    return [number[row["contestant"]] for row in board["board"]["standings"]]


def win_matrix_rows(board: BoardData) -> list[tuple[str, list[WinCell | None]]]:
    """Return the win matrix, with rows and columns in the order of the board.

    A cell is None on the diagonal and if the two contestants never met.
    """
    matrix, ranking = board["win_matrix"], ranked_indices(board)
    return [(board["contestants"][i], [_cell(matrix, i, j) for j in ranking]) for i in ranking]


def _cell(matrix: BoardData, i: int, j: int) -> WinCell | None:
    share = matrix["share"][i][j]
    if share is None:
        return None
    low, high = (matrix["interval"][bound][i][j] for bound in ("low", "high"))
    interval_text, games = f"{max(100 * low, 0):.0f}–{100 * high:.0f}", format_count(matrix["games"][i][j])
    return WinCell(format_percent(share), interval_text, games, round(10 * share) - 5)


@dataclass(frozen=True)
class RatingDifference:
    """Difference between two contestants: how far the better one is ahead.

    is_decided: whether the whole interval is above 0, so that there is no doubt which one is better.
    """

    better: str
    other: str
    difference: str
    interval_text: str
    is_decided: bool


def rating_differences(board: BoardData) -> list[RatingDifference]:
    """Return the difference of each pair in a group, the better contestant first."""
    differences = []
    for better, other, value, low, high, *_ in pair_rows(board):
        difference = {"value": value, "low": low, "high": high}
        is_decided = low is not None and low > 0
        differences.append(
            RatingDifference(
                better, other, format_elo(value, signed=True), format_interval(difference, signed=True), is_decided
            )
        )
    return differences


def pair_rows(board: BoardData) -> Iterator[tuple[Any, ...]]:
    """Yield each pair in a group: the better contestant, the other, the difference in Elo points with both ends of its
    interval, the share of games won with both ends of its interval, games, ties, and ties that were both bad.
    """
    names, matrix, ranking = board["contestants"], board["win_matrix"], ranked_indices(board)
    for group in board["board"]["groups"]:
        members = sorted(group["members"], key=ranking.index)
        for i, j in combinations(members, 2):
            at = group["members"].index(i), group["members"].index(j)
            difference = [_matrix_value(group[key], *at) for key in ("difference", "difference_low", "difference_high")]
            won = [matrix["share"][i][j], *(matrix["interval"][bound][i][j] for bound in ("low", "high"))]
            yield names[i], names[j], *difference, *won, *(matrix[key][i][j] for key in ("games", "ties", "both_bad"))


def _matrix_value(rows: list[list[float]] | None, i: int, j: int) -> float | None:
    return None if rows is None else rows[i][j]


def rank_chance_rows(board: BoardData) -> list[tuple[str, list[str]]]:
    """Return the probability of each rank for each contestant, in the order of the board.

    Return no rows if not all contestants are on one scale, or if nothing was resampled.
    """
    groups = board["board"]["groups"]
    if (
        len(groups) != 1
        or groups[0]["rank_probabilities"] is None
        or len(groups[0]["members"]) != len(ranked_indices(board))
    ):
        return []
    (group,) = groups
    rows = dict(zip(group["members"], group["rank_probabilities"], strict=True))
    return [
        (board["contestants"][k], [format_chance(probability) for probability in rows[k]])
        for k in ranked_indices(board)
    ]
