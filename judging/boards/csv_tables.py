"""Turn a stored board into tables with all digits, for CSV. `latex_tables` has those of papers."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext

from judging.boards import category_table
from judging.boards.format import BoardData
from judging.boards.other_estimates import controlled_table, online_table
from judging.boards.tables import pair_rows, ranked_indices
from judging.boards.win_rates import standing_win_rate
from runs.charts import Table


def standings_table(board: BoardData) -> Table:
    """Return the table of standings that the page shows, with all digits."""
    parts = ("value", "low", "high")
    head = ["contestant", "group"] + [f"{name} {end}" for name in ("rating", "anchored") for end in parts]
    head += ["votes", "wins", "losses", "ties", "p_best", "rank_from", "rank_to", "ahead_of"]
    rows = []
    for row in board["board"]["standings"]:
        ahead = row["ahead"] or {"of": None, "by": None}
        numbers = [(row[name] or {}).get(part) for name in ("rating", "anchored") for part in parts]
        record = [row["record"][key] for key in ("votes", "wins", "losses", "ties")]
        by = [(ahead["by"] or {}).get(part) for part in parts]
        ranked = row["rank_range"] or (None, None)
        won = standing_win_rate(board, row)
        share = (None, None, None) if won is None else (won.value, won.low, won.high)
        rows.append(
            (row["contestant"], row["group"], *numbers, *record, row["p_first"], *ranked, ahead["of"], *by, *share)
        )
    return Table((*head, *(f"{name} {part}" for name in ("ahead", "win rate") for part in parts)), tuple(rows))


def pairs_table(board: BoardData) -> Table:
    """Return a table of all pairs in a group, the better one first, with their difference and their games."""
    head = (
        gettext("over"), gettext("difference"), gettext("from"), gettext("to"), gettext("won"), gettext("won from"),
        gettext("won to"), gettext("games"), gettext("ties"), gettext("both bad"),
    )  # fmt: skip
    return Table((gettext("contestant"), *head), tuple(pair_rows(board)))


def wins_table(board: BoardData) -> Table:
    """Return a table of all pairs of contestants in both orders, with those that never met."""
    matrix, names = board["win_matrix"], board["contestants"]
    keys = ("games", "wins", "ties", "both_bad", "share")
    columns = [*(matrix[key] for key in keys), matrix["interval"]["low"], matrix["interval"]["high"]]
    met = [(i, j) for i in ranked_indices(board) for j in ranked_indices(board) if i != j]
    rows = [(names[i], names[j], *(column[i][j] for column in columns)) for i, j in met]
    return Table(("contestant", "against", *keys, "low", "high"), tuple(rows))


CSV_TABLES: dict[str, Callable[[BoardData], Table]] = {
    "standings": standings_table, "pairs": pairs_table, "wins": wins_table, "categories": category_table.table,
    "controlled": controlled_table, "online": online_table,
}  # fmt: skip
