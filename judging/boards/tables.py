"""Tables of a stored board, with the columns of pages, files and terminals; each selects those that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import (
    CHANCES,
    COEFFICIENTS,
    POINTS,
    SHARES,
    SIGNED_POINTS,
    WHOLE_SHARES,
    WIN_RATES,
    WIN_SHARES,
    BoardData,
    estimate_cell,
    interval_of,
)
from judging.boards.setting import plain_number
from judging.boards.win_rates import has_unrated, standing_win_rate
from runs.tables import COUNTS, Absent, Badge, Cell, Column, Interval, Note, NumberStyle, Ranks, Table

RATED = ("group", "rating", "anchored", "ranks", "p_best", "ahead")
"""Columns of standings that the page leaves out if no contestant has a rating."""


def standings_table(board: BoardData) -> Table:
    """Return the standings, the best contestant first."""
    asked, standings = board["board"]["asked"], board["board"]["standings"]
    is_one_group = len({row["group"] for row in standings}) == 1
    anchored = gettext("with %(name)s at %(init)s") % {"name": asked["anchor"], "init": plain_number(asked["init"])}
    best = gettext("Probability of being best") if is_one_group else gettext("Probability of being best of its group")
    ends = ("value", "low", "high")
    columns = (
        Column("contestant", gettext("Contestant"), str),
        Column("numbered", gettext("Contestant"), str),
        Column("group", gettext("Group")),
        Column("rating", gettext("Rating"), Interval, POINTS, is_strong=True),
        Column("points", gettext("Rating"), style=POINTS), Column("interval", gettext("Interval")),
        Column("anchored", anchored, Interval, POINTS),
        Column("ranks", gettext("Rank") if is_one_group else gettext("Rank in its group"), Ranks,
               parts=("rank_from", "rank_to")),
        Column("p_best", best, style=CHANCES),
        Column("ahead_of"),
        Column("ahead", gettext("Ahead of the next by"), Interval, SIGNED_POINTS, ends=""),
        Column("win_rate", gettext("Win rate"), Interval, WIN_RATES, tuple(f"win rate {end}" for end in ends),
               is_strong=True, ends="Wilson interval"),
        Column("votes", gettext("Votes"), style=COUNTS), Column("wins", gettext("Won"), style=COUNTS),
        Column("losses", gettext("Lost"), style=COUNTS), Column("ties", gettext("Tied"), style=COUNTS),
        Column("failed", gettext("Failed")),
    )  # fmt: skip
    failed = dict(zip(board["contestants"], board.get("failed", ()), strict=False))
    return Table(columns, tuple(
        (
            row["contestant"], f"{rank}. {row['contestant']}", row["group"], *_rating(interval_of(row["rating"])),
            interval_of(row["anchored"]), row["rank_range"] and Ranks(*row["rank_range"]), row["p_first"],
            row["ahead"] and row["ahead"]["of"], row["ahead"] and interval_of(row["ahead"]["by"]),
            standing_win_rate(board, row),
            *(row["record"][key] for key in ("votes", "wins", "losses", "ties")), failed.get(row["contestant"]),
        )
        for rank, row in enumerate(standings, 1)
    ))  # fmt: skip


def _rating(rating: Interval | None) -> tuple[Cell, ...]:
    """Return the rating with its interval in one cell, then each alone."""
    return (rating, rating.value, POINTS.interval(rating.low, rating.high) or None) if rating else (None, None, None)


def shown_standings(board: BoardData, *keys: str, **titles: str) -> Table:
    """Return columns of the standings. Groups, ratings with an anchor, win rates of contestants without a rating, and
    failed judgments have columns only if there are any."""
    standings, tally = board["board"]["standings"], board["board"]["tally"]
    is_shown = {
        "group": len({row["group"] for row in standings}) > 1,
        "anchored": bool(board["board"]["asked"]["anchor"]),
        "win_rate": has_unrated(board),
        "failed": any(tally["missing"].values()),
    }
    titles = {key: title for key, title in titles.items() if is_shown.get(key, True)}
    return standings_table(board).select(*(key for key in keys if is_shown.get(key, True)), **titles)


def page_standings(board: BoardData) -> Table:
    """Return the standings of the page."""
    has_ratings = any(row["rating"] is not None for row in board["board"]["standings"])
    keys = ("numbered", "group", "win_rate", "rating", "anchored", "ranks", "p_best", "ahead",
            "votes", "wins", "losses", "ties", "failed")  # fmt: skip
    return shown_standings(board, *(key for key in keys if has_ratings or key not in RATED))


def ranked_indices(board: BoardData) -> list[int]:
    """Return the contestants' numbers in the order of the board."""
    number = {name: k for k, name in enumerate(board["contestants"])}
    return [number[row["contestant"]] for row in board["board"]["standings"]]


def pairs_table(board: BoardData) -> Table:
    """Return all pairs in a group, the better contestant first, with their difference and their games."""
    columns = (
        Column("contestant", gettext("Contestant"), str, parts=(gettext("contestant"),)),
        Column("other", gettext("over"), str, parts=(gettext("over"),)),
        Column("pair", gettext("Pair"), str),
        Column("difference", gettext("Difference, Elo"), Interval, SIGNED_POINTS,
               (gettext("difference"), gettext("from"), gettext("to"))),
        Column("points", gettext("Difference, Elo"), style=SIGNED_POINTS),
        Column("interval", gettext("Interval")),
        Column("decided", gettext("Decided?"), Badge),
        Column("won", gettext("Won"), Interval, NumberStyle(text="{:.1%}".format),
               (gettext("won"), gettext("won from"), gettext("won to"))),
        Column("games", gettext("Games"), style=COUNTS, parts=(gettext("games"),)),
        Column("ties", gettext("ties"), style=COUNTS, parts=(gettext("ties"),)),
        Column("both_bad", gettext("both bad"), style=COUNTS, parts=(gettext("both bad"),)),
    )  # fmt: skip
    return Table(columns, tuple(_pair_rows(board)))


def _pair_rows(board: BoardData) -> Iterator[tuple[Cell, ...]]:
    names, matrix, ranking = board["contestants"], board["win_matrix"], ranked_indices(board)
    for group in board["board"]["groups"]:
        members = sorted(group["members"], key=ranking.index)
        for i, j in combinations(members, 2):
            at = group["members"].index(i), group["members"].index(j)
            keys = ("difference", "difference_low", "difference_high")
            difference = Interval(*(_matrix_value(group[key], *at) for key in keys))
            yield (
                names[i], names[j], gettext("%(a)s over %(b)s") % {"a": names[i], "b": names[j]}, difference,
                difference.value, SIGNED_POINTS.interval(difference.low, difference.high), decided(difference),
                _won(matrix, i, j), *(matrix[key][i][j] for key in ("games", "ties", "both_bad")),
            )  # fmt: skip


def decided(difference: Interval) -> Badge:
    """Return whether there is no doubt which contestant is better: the whole interval is above 0."""
    if difference.low is None or difference.high is None:
        return Badge(gettext("unknown"))
    return Badge(gettext("yes"), "good") if difference.low > 0 else Badge(gettext("not yet"))


def wins_table(board: BoardData) -> Table:
    """Return all pairs of contestants in both orders, with those that never met."""
    matrix, names, ranking = board["win_matrix"], board["contestants"], ranked_indices(board)
    keys = ("games", "wins", "ties", "both_bad")
    share = Column("won", kind=Interval, parts=("share", "low", "high"))
    rows = [
        (names[i], names[j], *(matrix[key][i][j] for key in keys), _won(matrix, i, j))
        for i in ranking for j in ranking if i != j
    ]  # fmt: skip
    return Table(("contestant", "against", *keys, share), tuple(rows))


def win_matrix(board: BoardData) -> Table:
    """Return the share of games that each row won against each column. The columns have the numbers of the rows."""
    matrix, names, ranking = board["win_matrix"], board["contestants"], ranked_indices(board)
    columns = [
        Column(names[j], str(number), Interval, WIN_SHARES, help=names[j], read_aloud=names[j], tint=_tint)
        for number, j in enumerate(ranking, 1)
    ]
    rows = [
        (f"{number}. {names[i]}", *(Absent("") if i == j else _won(matrix, i, j, has_games=True) for j in ranking))
        for number, i in enumerate(ranking, 1)
    ]
    return Table((Column("contestant", gettext("Contestant"), str), *columns), tuple(rows))


def _tint(cell: Any) -> str:
    """Return the class of a cell, by the distance of the share from a half."""
    return "" if isinstance(cell, Absent) else f"tint{round(10 * cell.value) - 5}"


def _won(matrix: BoardData, i: int, j: int, *, has_games: bool = False) -> Interval | Absent:
    """Return the share of games that i won against j, with ties as half wins."""
    if matrix["share"][i][j] is None:
        return Absent(gettext("never met"))
    low, high = (matrix["interval"][bound][i][j] for bound in ("low", "high"))
    return Interval(matrix["share"][i][j], low, high, matrix["games"][i][j] if has_games else None)


def _matrix_value(rows: list[list[float]] | None, i: int, j: int) -> float | None:
    return None if rows is None else rows[i][j]


def rank_chances(board: BoardData) -> Table | None:
    """Return the probability of each rank for each contestant.

    Return None if not all contestants are on one scale, or if nothing was resampled.
    """
    groups, ranking = board["board"]["groups"], ranked_indices(board)
    if len(groups) != 1 or not groups[0]["rank_probabilities"] or len(groups[0]["members"]) != len(ranking):
        return None
    chances = dict(zip(groups[0]["members"], groups[0]["rank_probabilities"], strict=True))
    names = [f"{rank}. {board['contestants'][k]}" for rank, k in enumerate(ranking, 1)]
    columns = (Column(str(rank), style=CHANCES) for rank, _ in enumerate(ranking, 1))
    rows = ((name, *chances[k]) for name, k in zip(names, ranking, strict=True))
    return Table((Column("contestant", gettext("Contestant"), str), *columns), tuple(rows))


def judge_pairs_table(pairs: Iterable[BoardData], display_name: Callable[[str], str] = str) -> Table:
    """Return the agreement of each pair of judges, with the share of ties of each, without which κ says little."""
    columns = (
        Column("judges", gettext("Judges"), tuple), Column("items", gettext("Pairs"), style=COUNTS),
        Column("alike", gettext("Agreement"), Interval, SHARES, ends=None),
        Column("without_ties", gettext("Without ties"), Interval, SHARES, ends=None),
        Column("kappa", gettext("Cohen's κ"), Interval, COEFFICIENTS),
        Column("ties", gettext("Ties of each"), style=WHOLE_SHARES), Column("tie_rates", style=WHOLE_SHARES),
    )  # fmt: skip
    return Table(columns, tuple(
        (
            (display_name(first), Note(gettext("and")), display_name(other)), pair["items"],
            *(estimate_cell(pair[key]) for key in ("raw", "without_ties", "kappa")),
            (rate, "/", other_rate), (rate, "and", other_rate),
        )
        for pair in pairs
        for (first, other), (rate, other_rate) in [(pair["raters"], pair["tie_rates"])]
    ))  # fmt: skip
