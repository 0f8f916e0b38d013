"""Turn panels into the rows of a page, with the names that the user may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.panels.format import (
    Axis,
    PanelData,
    common_axis,
    format_coefficient,
    format_elo,
    format_points,
    format_share,
    missing_reasons,
    rank_standings,
)

POLICY_LABELS = {
    "as-is": _("Every game is a vote"),
    "half": _("Two games, half a vote each"),
    "tie": _("A tie if they differ"),
    "consistent": _("Only if they agree"),
}
GROUP_LABELS = {
    "people": _("Humans with humans"),
    "mixed": _("Humans with models"),
    "models": _("Models with models"),
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


def position_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Return the rows of position bias by rater, and the results of swapped games."""
    rows = [
        {
            "rater": names.display_name(rater["who"]), "votes": rater["votes"], "share": format_share(rater["share"]),
            "worth": format_elo(rater["worth"] or {"value": None, "why": rater["why"]}, signed=True),
        }
        for rater in panel["rows"]
    ]  # fmt: skip
    heads = [gettext(words) for words in OUTCOME_LABELS]
    table = [(head, [int(n) for n in rater_row]) for head, rater_row in zip(heads, panel["table"], strict=True)]
    numbers = [number for rater_row in rows for number in (rater_row["share"], rater_row["worth"])]
    return {
        "rows": rows, "heads": heads, "table": table, "pairs": panel["pairs"], "unmatched": panel["alone"],
        "consistency": format_share(panel["consistency"]), "reasons": missing_reasons(*numbers),
    }  # fmt: skip


def policy_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Return contestants in rows and policies in columns. All are half-win ratings, so they share one axis."""
    boards = panel["boards"]
    axis = common_axis(standing for board in boards.values() for standing in board["standings"])
    columns = {name: _standing_cells(board, axis) for name, board in boards.items()}
    first = next(iter(columns.values()), {})
    return {
        "heads": [(gettext(POLICY_LABELS[name]), board["votes"]) for name, board in boards.items()],
        "rows": [(name, [column[name] for column in columns.values()]) for name in first],
        "axis": axis, "orders": _orders(columns.values()),
        "sentences": _sentences(boards),
    }  # fmt: skip


def ties_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Return two tables, each with its own axis because their scales differ, and each pair's ties, the most first."""
    boards = []
    for tie_model, board in panel["boards"].items():
        axis = common_axis(board["standings"])
        rows = _standing_cells(board, axis)
        boards.append({"name": gettext(TIE_MODEL_LABELS[tie_model]), "rows": rows, "sentences": board["sentences"]})
    pairs = [
        {
            "pair": (names.contestants[pair["one"]], names.contestants[pair["other"]]), "votes": pair["votes"],
            "tied": format_share(pair["tied"]), "both_bad": format_share(pair["both_bad"]),
        }
        for pair in sorted(panel["pairs"], key=lambda pair: -pair["tied"]["value"])
    ]  # fmt: skip
    return {"boards": boards, "pairs": pairs, "nu": panel["nu"], "orders": _orders(board["rows"] for board in boards)}


def length_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Return ratings of the same votes without length as a control and with it, on one axis."""
    axis = common_axis(row[kind] for row in panel["rows"] for kind in ("plain", "controlled"))
    rows = [
        {
            "contestant": names.contestants[row["contestant"]], "plain": format_elo(row["plain"]),
            "plain_strip": axis.strip(row["plain"]), "controlled": format_elo(row["controlled"]),
            "controlled_strip": axis.strip(row["controlled"]),
        }
        for row in sorted(panel["rows"], key=lambda row: -row["plain"]["value"])
    ]  # fmt: skip
    effect = format_elo(panel["effect"], signed=True) if panel.get("effect") else None
    return {
        "share": format_share(panel["share"]),
        "effect": effect,
        "rows": rows,
        "reason": panel["why"],
        "votes": panel["votes"],
    }


def agreement_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Return the agreement of groups, raters and pairs of raters, and the agreement without each rater."""
    raters = [
        {**rater, "name": names.display_name(rater["name"]), "tie_rate": 100 * rater["tie_rate"]}
        for rater in panel["raters"]
    ]
    groups = [_group(gettext(GROUP_LABELS[name]), group) for name, group in panel["groups"].items()]
    pairs = [_pair(pair, raters) for pair in panel["pairs"]]
    every = {name: format_coefficient(panel["all"][name]) for name in ("alpha_nominal", "alpha_ordinal")}
    compared = [pair for pair in pairs if pair["items"]]
    numbers = [*every.values(), *(n for row in (*groups, *compared) for n in row["numbers"])]
    without = [_without(contribution) for contribution in panel["without"]]
    return {
        "hidden": panel["hidden"], "groups": groups, "pairs": compared, "unrelated_pairs": len(pairs) - len(compared),
        "all": every, "items": panel["all"]["items"], "without": without, "reasons": missing_reasons(*numbers),
        "each": list(zip_longest(raters, without)),
    }  # fmt: skip


def scorer_rows(panel: PanelData, names: Names) -> dict[str, Any]:
    """Compare one scorer with the judges, by contestant and by category; the most overrated contestants come first."""
    rows = [
        {
            "contestant": names.contestants[row["contestant"]], "votes": row["all"]["votes"],
            "alike": format_share(row["all"]["alike"]), "predicted": format_share(row["said"]),
            "won": format_share(row["won"]), "over": format_points(row["over"]),
            "is_over": (row["over"]["low"] or 0) > 0,
        }
        for row in panel["contestants"]
    ]  # fmt: skip
    cells = {(cell["contestant"], cell["category"]): cell for cell in panel["cells"]}
    categories = [
        {
            "name": category["name"], "votes": category["votes"], "alike": format_share(category["alike"]),
            "cells": [_cell(cells[k, category["name"]]) for k in range(len(names.contestants))],
        }
        for category in panel["categories"]
    ]  # fmt: skip
    return {
        "name": panel["name"], "all": format_share(panel["all"]["alike"]), "votes": panel["all"]["votes"],
        "unscored": panel["unscored"], "rows": sorted(rows, key=lambda row: -(row["over"].value or 0.0)),
        "categories": categories, "reasons": missing_reasons(*(row["alike"] for row in rows)),
    }  # fmt: skip


def _orders(boards: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of different orders of the boards that rank everybody, or 0 if fewer than two boards do."""
    ranked = [tuple(board) for board in boards if all(cell["rank"] for cell in board.values())]
    return len(set(ranked)) if len(ranked) > 1 else 0


def _standing_cells(board: PanelData, axis: Axis) -> dict[str, dict[str, Any]]:
    """Map each contestant to its rank, rating and strip, the best first."""
    rank = rank_standings(board["standings"])
    return {
        standing["contestant"]: {"rank": rank[k], "rating": format_elo(standing), "strip": axis.strip(standing)}
        for k, standing in enumerate(board["standings"])
    }


def _sentences(boards: Mapping[str, PanelData]) -> list[tuple[str, str]]:
    """Return (policies, sentence), once for each sentence of the boards. policies: empty if all boards have it."""
    policies_by_sentence: dict[str, list[str]] = {}
    for name, board in boards.items():
        for sentence in board["sentences"]:
            policies_by_sentence.setdefault(sentence, []).append(gettext(POLICY_LABELS[name]))
    return [
        ("" if len(policies) == len(boards) else ", ".join(policies), sentence)
        for sentence, policies in policies_by_sentence.items()
    ]


def _group(label: str, group: PanelData) -> dict[str, Any]:
    names = ("raw", "without_ties"), ("kappa", "alpha_nominal", "alpha_ordinal")
    numbers = [
        *(format_share(group[name]) for name in names[0]),
        *(format_coefficient(group[name]) for name in names[1]),
    ]
    return {"name": label, "items": group["items"], "meetings": group["meetings"], "numbers": numbers}


def _pair(pair: PanelData, raters: list[dict[str, Any]]) -> dict[str, Any]:
    first, other = raters[pair["one"]], raters[pair["other"]]
    numbers = [format_share(pair["raw"]), format_share(pair["without_ties"]), format_coefficient(pair["kappa"])]
    ties = [100 * rate for rate in pair["tie_rates"]]
    return {"first": first, "other": other, "items": pair["items"], "numbers": numbers, "ties": ties}


def _without(contribution: PanelData) -> dict[str, Any]:
    rise = format_coefficient(contribution["rise"])
    nominal, ordinal = (
        format_coefficient({"value": contribution[name]}) for name in ("alpha_nominal", "alpha_ordinal")
    )
    return {
        "nominal": nominal, "ordinal": ordinal, "rise": rise, "is_worse": (contribution["rise"]["low"] or 0) > 0,
    }  # fmt: skip


def _cell(cell: PanelData) -> dict[str, Any]:
    return {"votes": cell["votes"], "alike": format_share(cell["alike"])}
