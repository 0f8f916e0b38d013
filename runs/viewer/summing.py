"""Summarize all answers of each column, whatever the query selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from runs.viewer import sql
from runs.viewer.asked import ResponseQuery
from runs.viewer.columns import Columns

SUM = """SELECT {i} AS place, count(*), avg(reward), avg(cost), avg((cost <= 0)::int),
    avg(is_truncated::int), avg(is_leaking::int),
    count(*) FILTER (WHERE cost <= 0 AND reward > 0), count(*) FILTER (WHERE cost <= 0 AND reward <= 0),
    count(*) FILTER (WHERE cost > 0 AND reward > 0), count(*) FILTER (WHERE cost > 0 AND reward <= 0)
FROM {name}"""


@dataclass(frozen=True)
class Sum:
    """The sums of a column hold the number of its answers, their means and shares, and the number in each quadrant.

    A value is None if the answers were not scored.
    """

    n: int
    reward: float | None
    cost: float | None
    safe: float | None
    truncated: float | None
    leaking: float | None
    sh: int
    su: int
    uh: int
    uu: int

    @property
    def quadrants(self) -> list[tuple[str, int]]:
        """Each with how many are in it."""
        return [("SH", self.sh), ("SU", self.su), ("UH", self.uh), ("UU", self.uu)]


def sums(columns: Columns, asked: ResponseQuery) -> list[Sum]:
    """A sum a column. One query."""
    tables = sql.answers(columns, asked)
    each = " UNION ALL ".join(SUM.format(i=i, name=sql.name_of(i)) for i in range(len(tables)))
    with connection.cursor() as cursor:
        text = f"WITH {', '.join(table.text for table in tables)} {each} ORDER BY place"
        cursor.execute(text, [value for table in tables for value in table.values])
        return [_sum(*row[1:]) for row in cursor.fetchall()]


def _sum(n: int, reward: Any, cost: Any, safe: Any, truncated: Any, leaking: Any, *inside: int) -> Sum:
    return Sum(n, _real(reward), _real(cost), _real(safe), _real(truncated), _real(leaking), *inside)


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
