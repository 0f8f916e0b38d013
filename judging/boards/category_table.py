"""Turn the stored ratings in each category of prompts into the rows of the page and of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext

from judging.boards.format import Said, count, elo, interval, percent
from judging.boards.report.by_category import PROMPTS_AT_LEAST, is_narrow
from judging.boards.settings import BoardSettings
from judging.boards.tables import order
from runs.charts import Table


@dataclass(frozen=True)
class Cell:
    """Texts of one contestant in one category.

    rating, between: the rating and its interval, empty if there is none. won: the share of games won, with ties as
    half a win, only if there is no rating. votes: the number of games.
    """

    rating: str
    between: str
    won: str
    votes: str


@dataclass(frozen=True)
class Head:
    """Heading of a category.

    query: the URL query of a leaderboard of this category alone. is_narrow: whether its intervals are too narrow. why:
    the reasons why the category has no ratings.
    """

    name: str
    prompts: int
    votes: int
    query: str
    is_narrow: bool
    why: Sequence[str]
    sentences: Sequence[str]


def by_category(said: Said, how: BoardSettings, criterion: str) -> dict[str, Any] | None:
    """Return the stored ratings by category with the texts of the page, or None if the board has none.

    heads: the categories with the most votes. rows: the contestants in the order of the board, each as a name, the cell
    of the whole board and a cell for each category. is_telling: whether a head has reasons or sentences to show.
    """
    found: dict[str, Any] | None = said.get("categories")
    if not found:
        return None
    whole = {one["contestant"]: one for one in said["board"]["standings"]}
    names, shown = said["contestants"], found["shown"]
    rows = [(names[k], _cell(whole[names[k]]), [_cell(one["cells"][k]) for one in shown]) for k in order(said)]
    heads = [_head(one, how, criterion) for one in shown]
    return found | {"heads": heads, "rows": rows, "is_telling": any(one.why or one.sentences for one in heads)}


def _head(one: Said, how: BoardSettings, criterion: str) -> Head:
    query = "&".join([urlencode({"criterion": criterion}), replace(how, category=one["category"]).query])
    narrow = not one["why"] and is_narrow(one["prompts"])
    return Head(one["category"], one["prompts"], one["votes"], query, narrow, _why(one), one["sentences"])


def _why(one: Said) -> Sequence[str]:
    if one["prompts"] >= PROMPTS_AT_LEAST:
        found: Sequence[str] = one["why"]
        return found
    words = gettext("fewer than %(least)s of its prompts were judged, which say nothing of how sure a rating is.")
    return [words % {"least": PROMPTS_AT_LEAST}]


def _cell(one: Said) -> Cell:
    rating, record = one["rating"], one["record"]
    won = (record["wins"] + record["ties"] / 2) / record["votes"] if record["votes"] else None
    if rating is None:
        return Cell("", "", percent(won), count(record["votes"]))
    return Cell(elo(rating["value"]), interval(rating), "", count(record["votes"]))


def table(said: Said) -> Table:
    """Return one row per contestant and category, with all digits; no rows if the board has no categories."""
    head = ("contestant", "category", "prompts", "rating", "low", "high", "votes", "wins", "losses", "ties", "why_none")
    found = said.get("categories") or {"shown": []}
    rows = [
        (name, one["category"], one["prompts"], *_numbers(one["cells"][k]), " ".join(one["why"]))
        for one in found["shown"]
        for k, name in enumerate(said["contestants"])
    ]
    return Table(head, tuple(rows))


def _numbers(cell: Said) -> list[float | None]:
    rating = [(cell["rating"] or {}).get(part) for part in ("value", "low", "high")]
    return [*rating, *(cell["record"][key] for key in ("votes", "wins", "losses", "ties"))]
