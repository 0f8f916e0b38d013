"""Panels as plain values -> the rows of a page, with the names that this person may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.panels.format import Axis, Said, axis_of, coefficient, elo, points, ranks, reasons, share

POLICY_WORDS = {
    "as-is": _("Every game is a vote"),
    "half": _("Two games, half a vote each"),
    "tie": _("A tie where they differ"),
    "consistent": _("Only where they agree"),
}
GROUP_WORDS = {
    "people": _("People with people"),
    "mixed": _("People with models"),
    "models": _("Models with models"),
}
TIES_WORDS = {
    "half-win": _("A tie is half a win for each"),
    "davidson": _("Ties have a strength of their own (Davidson)"),
}
OUTCOMES = (_("the one wins"), _("tie"), _("the other wins"))


@dataclass(frozen=True)
class Names:
    """Contestants by number, and annotators by what the panels call them: people's own names for the owner alone."""

    contestants: tuple[str, ...]
    people: Mapping[str, str]

    def who(self, annotator: str) -> str:
        """An annotator's name; everybody, and people, in words."""
        words = {"": gettext("everybody"), "people": gettext("people")}
        return words.get(annotator) or self.people.get(annotator, annotator)


def position_rows(said: Said, names: Names) -> dict[str, Any]:
    """Who goes by the place, and what swapping changed."""
    rows = [
        {
            "who": names.who(one["who"]), "votes": one["votes"], "share": share(one["share"]), "why": one["why"],
            "worth": elo(one["worth"] or {"value": None, "why": one["why"]}, signed=True),
        }
        for one in said["rows"]
    ]  # fmt: skip
    heads = [gettext(words) for words in OUTCOMES]
    table = [(head, [int(n) for n in row]) for head, row in zip(heads, said["table"], strict=True)]
    shown = [number for row in rows for number in (row["share"], row["worth"])]
    return {
        "rows": rows, "heads": heads, "table": table, "pairs": said["pairs"], "alone": said["alone"],
        "consistency": share(said["consistency"]), "reasons": reasons(*shown),
    }  # fmt: skip


def policy_rows(said: Said, names: Names) -> dict[str, Any]:
    """Contestants in rows, policies in columns: all are half-win ratings, so one axis holds them."""
    boards = said["boards"]
    axis = axis_of(one for board in boards.values() for one in board["standings"])
    columns = {name: _standing(board, axis) for name, board in boards.items()}
    first = next(iter(columns.values()), {})
    return {
        "heads": [(gettext(POLICY_WORDS[name]), board["votes"]) for name, board in boards.items()],
        "rows": [(who, [column[who] for column in columns.values()]) for who in first],
        "axis": axis, "orders": _orders(columns.values()),
        "sentences": _sentences(boards),
    }  # fmt: skip


def ties_rows(said: Said, names: Names) -> dict[str, Any]:
    """Two tables, each with an axis of its own: their scales differ. And every pair's ties, the most tied first."""
    boards = []
    for how, board in said["boards"].items():
        axis = axis_of(board["standings"])
        rows = _standing(board, axis)
        boards.append({"name": gettext(TIES_WORDS[how]), "rows": rows, "sentences": board["sentences"]})
    pairs = [
        {
            "pair": (names.contestants[one["one"]], names.contestants[one["other"]]), "votes": one["votes"],
            "tied": share(one["tied"]), "both_bad": share(one["both_bad"]),
        }
        for one in sorted(said["pairs"], key=lambda one: -one["tied"]["value"])
    ]  # fmt: skip
    return {"boards": boards, "pairs": pairs, "nu": said["nu"], "orders": _orders(board["rows"] for board in boards)}


def length_rows(said: Said, names: Names) -> dict[str, Any]:
    """Ratings without length and with it, of the same votes, on one axis."""
    axis = axis_of(one[of] for one in said["rows"] for of in ("plain", "controlled"))
    rows = [
        {
            "who": names.contestants[one["contestant"]], "plain": elo(one["plain"]),
            "plain_strip": axis.strip(one["plain"]), "controlled": elo(one["controlled"]),
            "controlled_strip": axis.strip(one["controlled"]),
        }
        for one in sorted(said["rows"], key=lambda one: -one["plain"]["value"])
    ]  # fmt: skip
    effect = elo(said["effect"], signed=True) if said.get("effect") else None
    return {"share": share(said["share"]), "effect": effect, "rows": rows, "why": said["why"], "votes": said["votes"]}


def agreement_rows(said: Said, names: Names) -> dict[str, Any]:
    """Groups, raters, every two of them, and what each does to all."""
    raters = [{**one, "name": names.who(one["name"]), "tie_rate": 100 * one["tie_rate"]} for one in said["raters"]]
    groups = [_group(gettext(GROUP_WORDS[name]), one) for name, one in said["groups"].items()]
    pairs = [_pair(one, raters) for one in said["pairs"]]
    every = {name: coefficient(said["all"][name]) for name in ("alpha_nominal", "alpha_ordinal")}
    known = [one for one in pairs if one["items"]]
    numbers = [*every.values(), *(n for row in (*groups, *known) for n in row["numbers"])]
    without = [_without(one) for one in said["without"]]
    return {
        "hidden": said["hidden"], "groups": groups, "pairs": known, "strangers": len(pairs) - len(known),
        "all": every, "items": said["all"]["items"], "without": without, "reasons": reasons(*numbers),
        "each": list(zip_longest(raters, without)),
    }  # fmt: skip


def scorer_rows(said: Said, names: Names) -> dict[str, Any]:
    """One scorer against the judges, by contestant and by category; those it overrates first."""
    rows = [
        {
            "who": names.contestants[one["contestant"]], "votes": one["all"]["votes"],
            "alike": share(one["all"]["alike"]), "said": share(one["said"]), "won": share(one["won"]),
            "over": points(one["over"]), "is_over": (one["over"]["low"] or 0) > 0,
        }
        for one in said["contestants"]
    ]  # fmt: skip
    cells = {(one["contestant"], one["category"]): one for one in said["cells"]}
    categories = [
        {
            "name": one["name"], "votes": one["votes"], "alike": share(one["alike"]),
            "cells": [_cell(cells[k, one["name"]]) for k in range(len(names.contestants))],
        }
        for one in said["categories"]
    ]  # fmt: skip
    return {
        "name": said["name"], "all": share(said["all"]["alike"]), "votes": said["all"]["votes"],
        "unscored": said["unscored"], "rows": sorted(rows, key=lambda row: -(row["over"].value or 0.0)),
        "categories": categories, "reasons": reasons(*(row["alike"] for row in rows)),
    }  # fmt: skip


def _orders(boards: Iterable[Mapping[str, Any]]) -> int:
    """How many orders those boards have that rank everybody; 0 where fewer than two do."""
    ranked = [tuple(board) for board in boards if all(cell["rank"] for cell in board.values())]
    return len(set(ranked)) if len(ranked) > 1 else 0


def _standing(board: Said, axis: Axis) -> dict[str, dict[str, Any]]:
    """contestant -> rank, rating and strip, the best first."""
    rank = ranks(board["standings"])
    return {
        one["contestant"]: {"rank": rank[k], "rating": elo(one), "strip": axis.strip(one)}
        for k, one in enumerate(board["standings"])
    }


def _sentences(boards: Mapping[str, Said]) -> list[tuple[str, str]]:
    """(policies, what their boards say first), each sentence once; no policy is named where all of them say it."""
    said: dict[str, list[str]] = {}
    for name, board in boards.items():
        for sentence in board["sentences"]:
            said.setdefault(sentence, []).append(gettext(POLICY_WORDS[name]))
    return [("" if len(who) == len(boards) else ", ".join(who), sentence) for sentence, who in said.items()]


def _group(words: str, said: Said) -> dict[str, Any]:
    names = ("raw", "without_ties"), ("kappa", "alpha_nominal", "alpha_ordinal")
    numbers = [*(share(said[name]) for name in names[0]), *(coefficient(said[name]) for name in names[1])]
    return {"name": words, "items": said["items"], "meetings": said["meetings"], "numbers": numbers}


def _pair(said: Said, raters: list[dict[str, Any]]) -> dict[str, Any]:
    one, other = raters[said["one"]], raters[said["other"]]
    numbers = [share(said["raw"]), share(said["without_ties"]), coefficient(said["kappa"])]
    ties = [100 * rate for rate in said["tie_rates"]]
    return {"one": one, "other": other, "items": said["items"], "numbers": numbers, "ties": ties}


def _without(said: Said) -> dict[str, Any]:
    rise = coefficient(said["rise"])
    nominal, ordinal = (coefficient({"value": said[name]}) for name in ("alpha_nominal", "alpha_ordinal"))
    return {
        "nominal": nominal, "ordinal": ordinal, "rise": rise, "is_worse": (said["rise"]["low"] or 0) > 0,
    }  # fmt: skip


def _cell(said: Said) -> dict[str, Any]:
    return {"votes": said["votes"], "alike": share(said["alike"])}
