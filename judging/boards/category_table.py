"""Turn the stored ratings in each category of prompts into the tables of the page and of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext, ngettext

from judging.boards.format import POINTS, BoardData, format_percent, interval_of
from judging.boards.report.by_category import MIN_PROMPTS, has_few_prompts
from judging.boards.settings import BoardSettings
from judging.boards.tables import ranked_indices
from runs.tables import COUNTS, NONE, Absent, Badge, Cell, Column, Interval, Link, Note, Table, count


def category_context(board: BoardData, settings: BoardSettings, criterion: str) -> dict[str, Any] | None:
    """Return the stored ratings by category with the table and the texts of the page, or None if the board has none.

    caveats: (category, sentences) of the categories with reasons for missing ratings, or with notes on their ratings.
    """
    by_category: dict[str, Any] | None = board.get("categories")
    if not by_category:
        return None
    whole = {row["contestant"]: row for row in board["board"]["standings"]}
    names, categories = board["contestants"], by_category["shown"]
    columns = (
        Column("contestant", gettext("Contestant"), str),
        Column("all", gettext("all prompts"), Interval, POINTS, is_strong=True),
        *(Column(category["category"], kind=Interval, style=POINTS, is_strong=True,
                 head=_heading(category, settings, criterion)) for category in categories),
    )  # fmt: skip
    rows = [
        (f"{rank}. {names[k]}", _cell(whole[names[k]]), *(_cell(category["cells"][k]) for category in categories))
        for rank, k in enumerate(ranked_indices(board), 1)
    ]
    caveats = [(category["category"], [*_missing_reasons(category), *category["sentences"]]) for category in categories]
    return by_category | {"table": Table(columns, tuple(rows)), "caveats": [caveat for caveat in caveats if caveat[1]]}


def _heading(category: BoardData, settings: BoardSettings, criterion: str) -> Cell:
    """Return the category's name, which leads to a leaderboard of this category alone, and the size of the category."""
    query = "&".join([urlencode({"criterion": criterion}), replace(settings, category=category["category"]).query])
    prompts, votes = category["prompts"], category["votes"]
    cells = (
        Link(category["category"], f"?{query}"),
        Note(ngettext("%(n)s prompt", "%(n)s prompts", prompts) % {"n": prompts}),
        Note(ngettext("%(n)s verdict", "%(n)s verdicts", votes) % {"n": votes}),
    )  # fmt: skip
    if _missing_reasons(category):
        return *cells, Badge(gettext("no ratings"), "warn")
    return (*cells, Badge(gettext("few prompts"), "warn")) if has_few_prompts(prompts) else cells


def _missing_reasons(category: BoardData) -> Sequence[str]:
    if category["prompts"] >= MIN_PROMPTS:
        reasons: Sequence[str] = category["why"]
        return reasons
    message = gettext("fewer than %(least)s of its prompts were judged, too few to show the uncertainty of a rating.")
    return [message % {"least": MIN_PROMPTS}]


def _cell(row: BoardData) -> Cell:
    """Return the rating, or the share of games won with ties as half wins if there is none; and the number of games."""
    rating, record = interval_of(row["rating"]), row["record"]
    n = Note(f"n {count(record['votes'])}")
    if rating is None and record["votes"]:
        win_share = format_percent((record["wins"] + record["ties"] / 2) / record["votes"])
        return Absent(NONE), Note(gettext("won %(share)s") % {"share": win_share}), n
    if rating is None:
        return Absent(NONE), n
    return (rating, n) if POINTS.interval(rating.low, rating.high) else (rating, Note(gettext("no interval")), n)


def categories_table(board: BoardData) -> Table:
    """Return one row per category and contestant; no rows if the board has no categories."""
    columns = (
        Column("category", gettext("Category"), str), Column("prompts", gettext("Prompts")),
        Column("contestant", gettext("Contestant"), str),
        Column("rating", gettext("Rating"), Interval, POINTS, ("rating", "low", "high")),
        Column("votes", gettext("Votes"), style=COUNTS), "wins", "losses", "ties", "why_none",
    )  # fmt: skip
    by_category = board.get("categories") or {"shown": []}
    rows = [
        (
            category["category"], category["prompts"], name, interval_of(category["cells"][k]["rating"]),
            *(category["cells"][k]["record"][key] for key in ("votes", "wins", "losses", "ties")),
            " ".join(category["why"]),
        )
        for category in by_category["shown"]
        for k, name in enumerate(board["contestants"])
    ]  # fmt: skip
    return Table(columns, tuple(rows))
