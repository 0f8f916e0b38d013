"""Turn a stored board into tables for papers: the page's columns, in whole Elo points, with intervals.

Columns named `… value`, `… low` and `… high` become one column in LaTeX, and so do `… mean` and `… se` or `… std`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from django.utils.translation import gettext

from judging.boards.format import BoardData, format_chance, format_ranks
from judging.boards.other_estimates import controlled_table, online_table
from judging.boards.tables import WinCell, pair_rows, win_matrix_rows
from judging.boards.win_rates import has_unrated, standing_win_rate
from judging.models import Snapshot
from runs.charts import Cell, Table

BOUNDS = ("value", "low", "high")
TIE_RULES = {
    "half-win": "Bradley-Terry strengths on the Elo scale, ties as half wins",
    "davidson": "Davidson strengths on the Elo scale, ties have a strength of their own",
}


def standings_table(board: BoardData) -> Table:
    """Return the standings. Groups, ratings with an anchor, win rates of contestants without a rating, and failed
    judgments have columns only if there are any."""
    asked, standings = board["board"]["asked"], board["board"]["standings"]
    failed = dict(zip(board["contestants"], board["failed"], strict=True))
    columns = [(gettext("Contestant"), [row["contestant"] for row in standings])]
    is_one_group = len({row["group"] for row in standings}) == 1
    if not is_one_group:
        columns += [(gettext("Group"), [row["group"] for row in standings])]
    columns += _interval_columns(gettext("Rating"), [row["rating"] for row in standings])
    if has_unrated(board):
        columns += [(gettext("Win rate"), [_win_rate_text(board, row) for row in standings])]
    if asked["anchor"]:
        heading = gettext("with %(name)s at %(init)s") % {"name": asked["anchor"], "init": f"{asked['init']:g}"}
        columns += _interval_columns(heading, [row["anchored"] for row in standings])
    best = gettext("Probability of being best") if is_one_group else gettext("Probability of being best of its group")
    columns += [
        (
            gettext("Rank") if is_one_group else gettext("Rank in its group"),
            [format_ranks(row["rank_range"]) for row in standings],
        ),
        (best, [format_chance(row["p_first"]) for row in standings]),
    ]
    columns += _interval_columns(gettext("Ahead of the next by"), [(row["ahead"] or {}).get("by") for row in standings])
    columns += [
        (heading, [row["record"][key] for row in standings])
        for heading, key in (
            (gettext("Votes"), "votes"), (gettext("Won"), "wins"), (gettext("Lost"), "losses"),
            (gettext("Tied"), "ties"),
        )
    ]  # fmt: skip
    if any(board["board"]["tally"]["missing"].values()):
        columns += [(gettext("Failed"), [failed[row["contestant"]] for row in standings])]
    return _table(columns)


def pairs_table(board: BoardData) -> Table:
    """Return each pair in a group, the better contestant first, with the difference, the share of games won and n."""
    better, difference, won = gettext("Contestant"), gettext("Difference, Elo"), gettext("Won")
    heads = (better, gettext("over"), *_interval_heads(difference), *_interval_heads(won), gettext("Games"))
    rows = [(*row[:2], *(_whole(points) for points in row[2:5]), *row[5:9]) for row in pair_rows(board)]
    return Table(heads, tuple(rows))


def wins_table(board: BoardData) -> Table:
    """Return the win matrix. Its columns have the numbers of its rows; cells have share, interval and games."""
    rows = win_matrix_rows(board)
    numbers = [str(number) for number, _ in enumerate(rows, 1)]
    return Table(
        (gettext("Contestant"), *numbers),
        tuple(
            (f"{number}. {name}", *map(_win_text, cells)) for number, (name, cells) in zip(numbers, rows, strict=True)
        ),
    )


def categories_table(board: BoardData) -> Table:
    """Return one row per category and contestant; no rows if the board has no categories."""
    heads = (
        gettext("Category"), gettext("Prompts"), gettext("Contestant"), *_interval_heads(gettext("Rating")),
        gettext("Votes"),
    )  # fmt: skip
    by_category = board.get("categories") or {"shown": []}
    rows = [
        (
            category["category"], category["prompts"], name, *_interval(category["cells"][k]["rating"]),
            category["cells"][k]["record"]["votes"],
        )
        for category in by_category["shown"]
        for k, name in enumerate(board["contestants"])
    ]  # fmt: skip
    return Table(heads, tuple(rows))


LATEX_TABLES: dict[str, Callable[[BoardData], Table]] = {
    "standings": standings_table, "pairs": pairs_table, "wins": wins_table, "categories": categories_table,
    "controlled": lambda board: _in_whole_points(controlled_table(board)),
    "online": lambda board: _in_whole_points(online_table(board)),
}  # fmt: skip
TABLE_NOTES = {
    "standings": "win rate: share of votes won, ties as half wins, with a Wilson interval that takes each vote as"
    " independent.",
    "pairs": "difference: Elo points by which the first is ahead. won: its share of games, ties as half wins.",
    "wins": "cells: share of games that the row won against the column, ties as half wins; its interval; games.",
    "controlled": "controlled: without the effects of position and length, with a standard error clustered by prompt.",
    "online": "single: one order of the verdicts. orders: mean, standard deviation and spread over other orders.",
}


def notes_of(snapshot: Snapshot, name: str) -> list[str]:
    """Return the lines that state the number of verdicts, the estimator and the origin of the table `name`."""
    board = snapshot.board["board"]
    asked, tally = board["asked"], board["tally"]
    return [
        f"Leaderboard of {snapshot.tournament.name}: {snapshot.rubric}",
        f"n = {tally['counted']} of {tally['votes']} verdicts on {tally['prompts']} prompts by {tally['annotators']}"
        " voters and judges",
        f"{TIE_RULES[asked['ties']]}; mean {asked['init']:g}; prior {asked['prior']:g}",
        _intervals_note(board, snapshot.board["categories"]["resamples"] if name == "categories" else None),
        *filter(None, [TABLE_NOTES.get(name) if name != "standings" or has_unrated(snapshot.board) else None]),
        f"Computed {snapshot.at.isoformat(timespec='seconds')}; hash {snapshot.digest}",
    ]


def _intervals_note(board: BoardData, category_resamples: int | None) -> str:
    """Return the line about the intervals, and about the resamples that a table of the whole board uses."""
    resampling, level = board["asked"]["resampling"], f"{100 * board['asked']['level']:g} %"
    resampled = f"{category_resamples or resampling['resamples']} resamples by {resampling['unit']}"
    if "intervals" not in board:
        return f"{level} intervals from {resampled}, seed {resampling['seed']}"
    student = f"{level} intervals: Student's t, standard errors clustered by {resampling['unit']} (CR3)"
    return student if category_resamples else f"{student}; ranks from {resampled}, seed {resampling['seed']}"


def _interval_columns(heading: str, ranges: Sequence[BoardData | None]) -> list[tuple[str, list[Cell]]]:
    intervals = [_interval(bounds) for bounds in ranges]
    return [(name, [interval[place] for interval in intervals]) for place, name in enumerate(_interval_heads(heading))]


def _interval_heads(heading: str) -> tuple[str, ...]:
    return tuple(f"{heading} {bound}" for bound in BOUNDS)


def _interval(bounds: BoardData | None) -> tuple[float | None, ...]:
    return tuple(_whole((bounds or {}).get(bound)) for bound in BOUNDS)


def _whole(points: float | None) -> float | None:
    """Return Elo points without decimals."""
    return None if points is None else float(round(points))


def _in_whole_points(table: Table) -> Table:
    rows = [tuple(_whole(cell) if isinstance(cell, float) else cell for cell in row) for row in table.rows]
    return Table(table.columns, tuple(rows))


def _win_rate_text(board: BoardData, standing: BoardData) -> str | None:
    won = standing_win_rate(board, standing)
    return None if won is None else won.whole_text


def _win_text(cell: WinCell | None) -> str | None:
    return None if cell is None else f"{cell.share} [{cell.interval_text}], n = {cell.games}"


def _table(columns: Iterable[tuple[str, list[Cell]]]) -> Table:
    names, cells = zip(*columns, strict=True)
    return Table(names, tuple(zip(*cells, strict=True)))
