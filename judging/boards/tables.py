"""Turn a stored board into tables of standings, pairs, ranks, wins, controls and online Elo. Compute no ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import Said, chance, count, elo, interval, percent, ranks
from judging.stats.ratings import ELO_PER_NAT, POSITION
from runs.charts import Table


@dataclass(frozen=True)
class BoardRow:
    """Row of the board, as texts. `name` is the contestant's name in rows and charts."""

    place: int
    name: str
    group: int
    rating: str
    between: str
    anchored: str
    anchored_between: str
    votes: str
    won: str
    lost: str
    tied: str
    best: str
    ranks: str
    ahead: str
    ahead_between: str
    failed: int
    """Number of failed judgments of its responses."""


@dataclass(frozen=True)
class Cell:
    """Result of the row against the column: the share of games won, with ties as half, its interval and the games."""

    share: str
    between: str
    games: str
    tint: int
    """Distance of the share from a half, from -5 to 5."""


def standings(said: Said) -> list[BoardRow]:
    """Return the rows of the board, the best contestant first."""
    failed = dict(zip(said["contestants"], said["failed"], strict=True))
    return [_standing(place, one, failed[one["contestant"]]) for place, one in enumerate(said["board"]["standings"], 1)]


def _standing(place: int, one: Said, failed: int) -> BoardRow:
    rating, anchored, ahead = one["rating"], one["anchored"], one["ahead"]
    votes, won, lost, tied = (count(one["record"][key]) for key in ("votes", "wins", "losses", "ties"))
    return BoardRow(
        place, one["contestant"], one["group"], elo(rating and rating["value"]), interval(rating),
        elo(anchored and anchored["value"]), interval(anchored), votes, won, lost, tied,
        chance(one["p_first"]), ranks(one["rank_range"]), elo(ahead and ahead["by"]["value"], signed=True),
        interval(ahead and ahead["by"], signed=True), failed,
    )  # fmt: skip


def order(said: Said) -> list[int]:
    """Return the contestants' numbers in the order of the board."""
    number = {name: k for k, name in enumerate(said["contestants"])}
    return [number[one["contestant"]] for one in said["board"]["standings"]]


def wins(said: Said) -> list[tuple[str, list[Cell | None]]]:
    """Return the win matrix, with rows and columns in the order of the board.

    A cell is None on the diagonal and if the two contestants never met.
    """
    matrix, places = said["win_matrix"], order(said)
    return [(said["contestants"][i], [_cell(matrix, i, j) for j in places]) for i in places]


def _cell(matrix: Said, i: int, j: int) -> Cell | None:
    share = matrix["share"][i][j]
    if share is None:
        return None
    low, high = (matrix["interval"][end][i][j] for end in ("low", "high"))
    between, games = f"{max(100 * low, 0):.0f}–{100 * high:.0f}", count(matrix["games"][i][j])
    return Cell(percent(share), between, games, round(10 * share) - 5)


@dataclass(frozen=True)
class Apart:
    """Difference between two contestants: how far the better one is ahead.

    is_decided: whether the whole interval is above 0, so that there is no doubt which one is better.
    """

    better: str
    other: str
    by: str
    between: str
    is_decided: bool


def apart(said: Said) -> list[Apart]:
    """Return the difference of each pair in a group, the better contestant first."""
    found = []
    for better, other, value, low, high, *_ in _pairs(said):
        by = {"value": value, "low": low, "high": high}
        is_decided = low is not None and low > 0
        found.append(Apart(better, other, elo(value, signed=True), interval(by, signed=True), is_decided))
    return found


def pairs(said: Said) -> Table:
    """Return a table of all pairs in a group, the better one first, with their difference and their games."""
    head = (
        gettext("over"), gettext("apart by"), gettext("from"), gettext("to"), gettext("won"), gettext("won from"),
        gettext("won to"), gettext("games"), gettext("ties"), gettext("both bad"),
    )  # fmt: skip
    return Table((gettext("contestant"), *head), tuple(_pairs(said)))


def _pairs(said: Said) -> Iterator[tuple[Any, ...]]:
    names, matrix, places = said["contestants"], said["win_matrix"], order(said)
    for group in said["board"]["groups"]:
        members = sorted(group["members"], key=places.index)
        for i, j in combinations(members, 2):
            at = group["members"].index(i), group["members"].index(j)
            apart = [_at(group[key], *at) for key in ("difference", "difference_low", "difference_high")]
            won = [matrix["share"][i][j], *(matrix["interval"][end][i][j] for end in ("low", "high"))]
            yield names[i], names[j], *apart, *won, *(matrix[key][i][j] for key in ("games", "ties", "both_bad"))


def _at(rows: list[list[float]] | None, i: int, j: int) -> float | None:
    return None if rows is None else rows[i][j]


def rank_chances(said: Said) -> list[tuple[str, list[str]]]:
    """Return the probability of each rank for each contestant, in the order of the board.

    Return no rows if not all contestants are on one scale, or if nothing was resampled.
    """
    groups = said["board"]["groups"]
    if len(groups) != 1 or groups[0]["rank_probabilities"] is None or len(groups[0]["members"]) != len(order(said)):
        return []
    (group,) = groups
    rows = dict(zip(group["members"], group["rank_probabilities"], strict=True))
    return [(said["contestants"][k], [chance(one) for one in rows[k]]) for k in order(said)]


def controlled(said: Said) -> dict[str, Any]:
    """Return ratings without the effects of position and length, next to the board's, or why there are none."""
    found = said["controlled"]
    if not isinstance(found, dict):
        return {"why": found or ""}
    init, plain = said["board"]["asked"]["init"], _ratings(said)
    effects = [_effect(name, one) for name, one in found["effects"].items()]
    # Controls are fitted with ties as half wins and no prior: any other board's ratings lie on another scale.
    is_one_scale = said["board"]["asked"]["ties"] == "half-win" and not said["board"]["asked"]["prior"]
    rows = []
    for k in order(said):
        rating, error = init + ELO_PER_NAT * found["theta"][k], ELO_PER_NAT * max(found["covariance"][k][k], 0) ** 0.5
        change = rating - plain[k] if is_one_scale and plain[k] is not None else None
        rows.append((said["contestants"][k], elo(plain[k]), elo(rating), elo(error), elo(change, signed=True)))
    return {"effects": effects, "rows": rows, "left_out": found["left_out"], "is_one_scale": is_one_scale}


def _effect(name: str, one: Said) -> str:
    worth = {"elo": elo(one["value"] * ELO_PER_NAT, signed=True), "error": elo(one["error"] * ELO_PER_NAT)}
    if name == POSITION:
        return gettext("Standing first is worth %(elo)s ± %(error)s Elo.") % worth
    return gettext("An answer that is one standard deviation longer gains %(elo)s ± %(error)s Elo.") % worth


def _ratings(said: Said) -> list[float | None]:
    known = {one["contestant"]: one["rating"] and one["rating"]["value"] for one in said["board"]["standings"]}
    return [known[name] for name in said["contestants"]]


def online(said: Said) -> dict[str, Any] | None:
    """Return online Elo of one order and of many others, or None if the board has none."""
    found = said["online_elo"]
    if found is None:
        return None
    orders, best = found["orders"], sorted(range(len(found["single"])), key=lambda k: -found["single"][k])
    columns = (found["single"], orders["mean"], orders["sd"], orders["spread"])
    rows = [(said["contestants"][k], *(elo(column[k]) for column in columns)) for k in best]
    return {"elo": found["elo"], "rows": rows, "orders": orders["orders"], "kept": percent(orders["kept"])}


def standings_table(said: Said) -> Table:
    """Return the table of standings that the page shows, with all digits."""
    parts = ("value", "low", "high")
    head = ["contestant", "group"] + [f"{name} {part}" for name in ("rating", "anchored") for part in parts]
    head += ["votes", "wins", "losses", "ties", "p_best", "rank_from", "rank_to", "ahead_of"]
    rows = []
    for one in said["board"]["standings"]:
        ahead = one["ahead"] or {"of": None, "by": None}
        numbers = [(one[name] or {}).get(part) for name in ("rating", "anchored") for part in parts]
        record = [one["record"][key] for key in ("votes", "wins", "losses", "ties")]
        by = [(ahead["by"] or {}).get(part) for part in parts]
        ranked = one["rank_range"] or (None, None)
        rows.append((one["contestant"], one["group"], *numbers, *record, one["p_first"], *ranked, ahead["of"], *by))
    return Table((*head, *(f"ahead {part}" for part in parts)), tuple(rows))


def wins_table(said: Said) -> Table:
    """Return a table of all pairs of contestants in both orders, with those that never met."""
    matrix, names = said["win_matrix"], said["contestants"]
    keys = ("games", "wins", "ties", "both_bad", "share")
    columns = [*(matrix[key] for key in keys), matrix["interval"]["low"], matrix["interval"]["high"]]
    met = [(i, j) for i in order(said) for j in order(said) if i != j]
    rows = [(names[i], names[j], *(column[i][j] for column in columns)) for i, j in met]
    return Table(("contestant", "against", *keys, "low", "high"), tuple(rows))
