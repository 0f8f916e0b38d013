"""Turn the stored ratings in each category of prompts into the rows of the page and of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext

from judging.boards.format import BoardData, format_count, format_elo, format_interval, format_percent
from judging.boards.report.by_category import MIN_PROMPTS, has_few_prompts
from judging.boards.settings import BoardSettings
from judging.boards.tables import ranked_indices
from runs.charts import Table


@dataclass(frozen=True)
class CategoryCell:
    """Texts of one contestant in one category.

    rating, interval_text: the rating and its interval, empty if there is none. win_share: the share of games won, with
    ties as half a win, only if there is no rating. votes: the number of games.
    """

    rating: str
    interval_text: str
    win_share: str
    votes: str


@dataclass(frozen=True)
class CategoryHeading:
    """Heading of a category.

    query: the URL query of a leaderboard of this category alone. has_few_prompts: whether its intervals are only rough.
    reasons: the reasons why the category has no ratings.
    """

    name: str
    prompts: int
    votes: int
    query: str
    has_few_prompts: bool
    reasons: Sequence[str]
    sentences: Sequence[str]


def category_context(board: BoardData, settings: BoardSettings, criterion: str) -> dict[str, Any] | None:
    """Return the stored ratings by category with the texts of the page, or None if the board has none.

    heads: the categories with the most votes. rows: the contestants in the order of the board, each as a name, the cell
    of the whole board and a cell for each category. has_caveats: whether a head has reasons or sentences to show.
    """
    by_category: dict[str, Any] | None = board.get("categories")
    if not by_category:
        return None
    whole = {row["contestant"]: row for row in board["board"]["standings"]}
    names, categories = board["contestants"], by_category["shown"]
    rows = [
        (names[k], _cell(whole[names[k]]), [_cell(category["cells"][k]) for category in categories])
        for k in ranked_indices(board)
    ]
    heads = [_heading(category, settings, criterion) for category in categories]
    return by_category | {
        "heads": heads,
        "rows": rows,
        "has_caveats": any(heading.reasons or heading.sentences for heading in heads),
    }


def _heading(category: BoardData, settings: BoardSettings, criterion: str) -> CategoryHeading:
    query = "&".join([urlencode({"criterion": criterion}), replace(settings, category=category["category"]).query])
    is_rough = not category["why"] and has_few_prompts(category["prompts"])
    return CategoryHeading(
        category["category"],
        category["prompts"],
        category["votes"],
        query,
        is_rough,
        _missing_reasons(category),
        category["sentences"],
    )


def _missing_reasons(category: BoardData) -> Sequence[str]:
    if category["prompts"] >= MIN_PROMPTS:
        reasons: Sequence[str] = category["why"]
        return reasons
    message = gettext("fewer than %(least)s of its prompts were judged, too few to show the uncertainty of a rating.")
    return [message % {"least": MIN_PROMPTS}]


def _cell(row: BoardData) -> CategoryCell:
    rating, record = row["rating"], row["record"]
    win_share = (record["wins"] + record["ties"] / 2) / record["votes"] if record["votes"] else None
    if rating is None:
        return CategoryCell("", "", format_percent(win_share), format_count(record["votes"]))
    return CategoryCell(format_elo(rating["value"]), format_interval(rating), "", format_count(record["votes"]))


def table(board: BoardData) -> Table:
    """Return one row per contestant and category, with all digits; no rows if the board has no categories."""
    head = ("contestant", "category", "prompts", "rating", "low", "high", "votes", "wins", "losses", "ties", "why_none")
    by_category = board.get("categories") or {"shown": []}
    rows = [
        (name, category["category"], category["prompts"], *_numbers(category["cells"][k]), " ".join(category["why"]))
        for category in by_category["shown"]
        for k, name in enumerate(board["contestants"])
    ]
    return Table(head, tuple(rows))


def _numbers(cell: BoardData) -> list[float | None]:
    rating = [(cell["rating"] or {}).get(part) for part in ("value", "low", "high")]
    return [*rating, *(cell["record"][key] for key in ("votes", "wins", "losses", "ties"))]
