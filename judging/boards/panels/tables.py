"""Tables of the panels of position, swapped games, ties and length, with the names that the user may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from judging.boards.format import SHARES, BoardData, estimate_cell
from judging.boards.panels.format import (
    RATING_DIFFERENCES,
    Axis,
    common_axis,
    contestant_column,
    missing_reasons,
    number_html,
    rank_standings,
    rated_cell,
    rated_column,
)
from runs.tables import COUNTS, Badge, Cell, Column, Interval, Note, Table

POLICY_LABELS = {
    "as-is": _("Every game is a vote"),
    "half": _("Two games, half a vote each"),
    "tie": _("A tie if they differ"),
    "consistent": _("Only if they agree"),
}
TIE_MODEL_LABELS = {
    "half-win": _("A tie is half a win for each"),
    "davidson": _("Ties have a strength of their own (Davidson)"),
}
OUTCOME_LABELS = (_("A wins"), _("tie"), _("B wins"))


@dataclass(frozen=True)
class Names:
    """Names to display: contestants by number, and voters by their name in the panels.

    voters: "person N" -> the voter's own name, empty unless the user manages the tournament.
    """

    contestants: tuple[str, ...]
    voters: Mapping[str, str]

    def display_name(self, annotator: str) -> str:
        """Return an annotator's name, or the words for everybody ("") and for all voters ("people")."""
        labels = {"": gettext("all judges"), "people": gettext("humans")}
        return labels.get(annotator) or self.voters.get(annotator, annotator)


def position_context(panel: BoardData, names: Names) -> dict[str, Any]:
    """Return the table of position bias by rater, and the outcomes of swapped games."""
    columns = (
        Column("rater", gettext("Votes of"), str), Column("votes", gettext("Votes"), style=COUNTS),
        Column("share", gettext("Won by the first"), Interval, SHARES),
        Column("worth", gettext("Worth in Elo"), Interval, RATING_DIFFERENCES),
    )  # fmt: skip
    estimates = [(rater["share"], rater["worth"] or {"value": None, "why": rater["why"]}) for rater in panel["rows"]]
    rows = [
        (names.display_name(rater["who"]), rater["votes"], *map(estimate_cell, pair))
        for rater, pair in zip(panel["rows"], estimates, strict=True)
    ]
    return {
        "table": Table(columns, tuple(rows)), "swaps": _swaps_table(panel["table"]), "pairs": panel["pairs"],
        "unmatched": panel["alone"], "consistency": number_html(SHARES, panel["consistency"]),
        "reasons": missing_reasons(estimate for pair in estimates for estimate in pair),
    }  # fmt: skip


def _swaps_table(counts: Iterable[Iterable[float]]) -> Table:
    words = [gettext(label) for label in OUTCOME_LABELS]
    columns = (Column(word, style=COUNTS, head=(word, Note(gettext("shown second")))) for word in words)
    rows: list[tuple[Cell, ...]] = [
        ((word, Note(gettext("shown first"))), *map(int, row)) for word, row in zip(words, counts, strict=True)
    ]
    return Table((Column("outcome", kind=str, head=""), *columns), tuple(rows))


def policies_context(panel: BoardData) -> dict[str, Any]:
    """Return contestants in rows and policies in columns. All are half-win ratings, so they share one axis."""
    boards = panel["boards"]
    axis = common_axis(standing for board in boards.values() for standing in board["standings"])
    cells = [_rated_cells(board, axis) for board in boards.values()]
    columns = [_policy_column(gettext(POLICY_LABELS[name]), board["votes"]) for name, board in boards.items()]
    rows = [(name, *(column[name] for column in cells)) for name in next(iter(cells), ())]
    return {
        "table": Table((contestant_column(), *columns), tuple(rows)), "axis": axis, "orders": _orders(boards.values()),
        "sentences": _sentences(boards),
    }  # fmt: skip


def ties_context(panel: BoardData, names: Names) -> dict[str, Any]:
    """Return two tables, each with its own axis because their scales differ, and each pair's ties, the most first."""
    boards = []
    for tie_model, board in panel["boards"].items():
        cells = _rated_cells(board, common_axis(board["standings"]))
        table = Table((contestant_column(), rated_column(gettext("Rating"))), tuple(cells.items()))
        boards.append({"name": gettext(TIE_MODEL_LABELS[tie_model]), "table": table, "sentences": board["sentences"]})
    columns = (
        Column("pair", gettext("Contestants"), tuple), Column("votes", gettext("Votes"), style=COUNTS),
        Column("tied", gettext("Ties of either kind"), Interval, SHARES),
        Column("both_bad", gettext("Both bad"), Interval, SHARES),
    )  # fmt: skip
    pairs = [
        (
            (names.contestants[pair["one"]], Note(gettext("and")), names.contestants[pair["other"]]), pair["votes"],
            estimate_cell(pair["tied"]), estimate_cell(pair["both_bad"]),
        )
        for pair in sorted(panel["pairs"], key=lambda pair: -pair["tied"]["value"])
    ]  # fmt: skip
    return {
        "boards": boards, "pairs": Table(columns, tuple(pairs)), "nu": panel["nu"],
        "orders": _orders(panel["boards"].values()),
    }  # fmt: skip


def length_context(panel: BoardData, names: Names) -> dict[str, Any]:
    """Return ratings of the same votes without length as a control and with it, on one axis."""
    axis = common_axis(row[kind] for row in panel["rows"] for kind in ("plain", "controlled"))
    columns = contestant_column(), rated_column(gettext("As voted")), rated_column(gettext("Controlled for length"))
    rows = [
        (names.contestants[row["contestant"]], rated_cell(row["plain"], axis), rated_cell(row["controlled"], axis))
        for row in sorted(panel["rows"], key=lambda row: -row["plain"]["value"])
    ]
    return {
        "share": panel["share"]["value"] is not None and number_html(SHARES, panel["share"]),
        "effect": panel.get("effect") and number_html(RATING_DIFFERENCES, panel["effect"]),
        "table": Table(columns, tuple(rows)), "reason": panel["why"], "no_share": panel["share"].get("why"),
    }  # fmt: skip


def _policy_column(title: str, votes: int) -> Column:
    return rated_column(title, (title, Note(ngettext("%(n)s vote", "%(n)s votes", votes) % {"n": votes})))


def _rated_cells(board: BoardData, axis: Axis) -> dict[str, Cell]:
    """Map each contestant to its rank, rating and strip, the best first."""
    rank = rank_standings(board["standings"])
    return {
        standing["contestant"]: rated_cell(standing, axis, Badge(f"{rank[k]}." if rank[k] else ""))
        for k, standing in enumerate(board["standings"])
    }


def _orders(boards: Iterable[BoardData]) -> int:
    """Return the number of different orders of the boards that rank everybody, or 0 if fewer than two boards do."""
    standings = [board["standings"] for board in boards]
    ranked = [tuple(row["contestant"] for row in rows) for rows in standings if all(rank_standings(rows).values())]
    return len(set(ranked)) if len(ranked) > 1 else 0


def _sentences(boards: Mapping[str, BoardData]) -> list[tuple[str, str]]:
    """Return (policies, sentence), once for each sentence of the boards. policies: empty if all boards have it."""
    policies_by_sentence: dict[str, list[str]] = {}
    for name, board in boards.items():
        for sentence in board["sentences"]:
            policies_by_sentence.setdefault(sentence, []).append(gettext(POLICY_LABELS[name]))
    return [
        ("" if len(policies) == len(boards) else ", ".join(policies), sentence)
        for sentence, policies in policies_by_sentence.items()
    ]
