"""Tables of the panels of agreement: of judges with each other, and of a scorer with judges."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.format import COEFFICIENTS, SHARES, WHOLE_SHARES, BoardData, estimate_cell
from judging.boards.panels.format import SHARE_POINTS, contestant_column, missing_reasons, number_html
from judging.boards.panels.tables import Names
from judging.boards.tables import judge_pairs_table
from runs.tables import COUNTS, NONE, Absent, Badge, Cell, Column, Interval, Note, Table

GROUP_LABELS = {
    "people": _("Humans with humans"),
    "mixed": _("Humans with models"),
    "models": _("Models with models"),
}


def agreement_context(panel: BoardData, names: Names) -> dict[str, Any]:
    """Return the agreement of groups, raters and pairs of raters, and the agreement without each rater."""
    compared = [pair for pair in panel["pairs"] if pair["items"]]
    every, groups, keys = panel["all"], panel["groups"], ("raw", "without_ties", "kappa")
    estimates = [
        every["alpha_nominal"], every["alpha_ordinal"],
        *(group[key] for group in groups.values() for key in (*keys, "alpha_nominal", "alpha_ordinal")),
        *(pair[key] for pair in compared for key in keys),
    ]  # fmt: skip
    pairs = judge_pairs_table(compared, names.display_name)
    return {
        "groups": _groups_table(groups, every), "hidden": panel["hidden"],
        "pairs": pairs.select("judges", "items", "alike", "without_ties", "kappa", "ties"),
        "unrelated_pairs": len(panel["pairs"]) - len(compared), "reasons": missing_reasons(estimates),
        "raters": _raters_table(panel, names), "has_contributions": bool(panel["without"]),
    }  # fmt: skip


def _groups_table(groups: Mapping[str, BoardData], every: BoardData) -> Table:
    """Return the agreement within and between humans and models; the last row is that of all judges."""
    shares = {"raw": gettext("Agreement"), "without_ties": gettext("Without ties")}
    coefficients = {"kappa": gettext("κ"), "alpha_nominal": gettext("α nominal"), "alpha_ordinal": gettext("α ordinal")}
    columns = (
        Column("judges", gettext("Judges"), str), Column("items", gettext("Pairs"), style=COUNTS),
        *(Column(key, title, Interval, SHARES) for key, title in shares.items()),
        *(Column(key, title, Interval, COEFFICIENTS) for key, title in coefficients.items()),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (gettext(GROUP_LABELS[name]), group["items"], *(estimate_cell(group[key]) for key in (*shares, *coefficients)))
        for name, group in groups.items()
    ]
    alphas = (estimate_cell(every[key]) for key in ("alpha_nominal", "alpha_ordinal"))
    rows.append((gettext("All judges"), every["items"], *[Absent(NONE)] * 3, *alphas))
    return Table(columns, tuple(rows))


def _raters_table(panel: BoardData, names: Names) -> Table:
    """Return each judge's share of ties; with three judges or more, also the agreement of the others."""
    columns = (
        Column("judge", gettext("Judge"), str), Column("kind", gettext("Kind"), str),
        Column("labels", gettext("Pairs judged"), style=COUNTS), Column("ties", gettext("Ties"), style=WHOLE_SHARES),
        Column("nominal", gettext("α nominal without"), Interval, COEFFICIENTS),
        Column("ordinal", gettext("α ordinal without"), Interval, COEFFICIENTS),
        Column("rise", gettext("Rise"), Interval, COEFFICIENTS),
    )  # fmt: skip
    rows = [
        (
            names.display_name(rater["name"]), gettext("human") if rater["person"] else gettext("model or rules"),
            rater["labels"], rater["tie_rate"], *(_contribution(contribution) if contribution else (None,) * 3),
        )
        for rater, contribution in zip_longest(panel["raters"], panel["without"])
    ]  # fmt: skip
    table = Table(columns, tuple(rows))
    return table if panel["without"] else table.select("judge", "kind", "labels", "ties")


def _contribution(contribution: BoardData) -> tuple[Cell, ...]:
    rise = estimate_cell(contribution["rise"])
    worse = Badge(gettext("others agree better without"), "warn", "!")
    alphas = (estimate_cell({"value": contribution[key]}) for key in ("alpha_nominal", "alpha_ordinal"))
    return *alphas, (rise, worse) if (contribution["rise"]["low"] or 0) > 0 else rise


def scorer_context(panel: BoardData, names: Names) -> dict[str, Any]:
    """Compare one scorer with the judges, by contestant and by category; the most overrated contestants come first."""
    columns = (
        contestant_column(), Column("votes", gettext("Votes"), style=COUNTS),
        Column("alike", gettext("Agreement"), Interval, SHARES),
        Column("predicted", gettext("Predicted wins"), Interval, SHARES),
        Column("won", gettext("Wins"), Interval, SHARES),
        Column("over", gettext("Over-predicted by"), Interval, SHARE_POINTS),
    )  # fmt: skip
    rows = [
        (
            names.contestants[row["contestant"]], row["all"]["votes"],
            *map(estimate_cell, (row["all"]["alike"], row["said"], row["won"])), _over_predicted(row["over"]),
        )
        for row in sorted(panel["contestants"], key=lambda row: -(row["over"]["value"] or 0.0))
    ]  # fmt: skip
    return {
        "name": panel["name"], "all": number_html(SHARES, panel["all"]["alike"]), "votes": panel["all"]["votes"],
        "unscored": panel["unscored"], "table": Table(columns, tuple(rows)),
        "categories": _scorer_categories(panel, names),
        "reasons": missing_reasons(row["all"]["alike"] for row in panel["contestants"]),
    }  # fmt: skip


def _over_predicted(over: BoardData) -> Cell:
    cell = estimate_cell(over)
    return (cell, Badge(gettext("overrated"), "warn", "!")) if (over["low"] or 0) > 0 else cell


def _scorer_categories(panel: BoardData, names: Names) -> Table:
    by_contestant = {(cell["contestant"], cell["category"]): cell for cell in panel["cells"]}
    contestants = range(len(names.contestants))
    columns = (
        Column("category", gettext("Category"), str), Column("all", gettext("All contestants"), Interval, SHARES),
        *(Column(names.contestants[k], kind=Interval, style=SHARES) for k in contestants),
    )  # fmt: skip
    rows = [
        (category["name"], *map(_counted, (category, *(by_contestant[k, category["name"]] for k in contestants))))
        for category in panel["categories"]
    ]
    return Table(columns, tuple(rows))


def _counted(cell: BoardData) -> Cell:
    return estimate_cell(cell["alike"]), Note(f"n {cell['votes']}")
