"""Rewards and costs to draw: of many answers an even share, the same each time."""

from __future__ import annotations

from django.db import connection

from runs.viewer import sql
from runs.viewer.asked import ResponseQuery
from runs.viewer.columns import Columns

DRAWN_AT_MOST = 500
"""Dots of a column: as many as can be told apart, and quickly drawn as SVG."""
POINTS = """SELECT {i} AS place, reward, cost, total FROM (
    SELECT reward, cost, count(*) OVER () AS total, row_number() OVER (ORDER BY hashint8(id)) AS n
    FROM {name} WHERE reward IS NOT NULL AND cost IS NOT NULL
) AS chosen WHERE n <= %s"""

Points = tuple[list[tuple[float, float]], int]
"""(reward and cost of those to draw, how many there are)."""


def points(columns: Columns, asked: ResponseQuery) -> list[Points]:
    """Return the sampled points of each column, and how many there are. One query."""
    tables = sql.answers(columns, asked)
    each = " UNION ALL ".join(POINTS.format(i=i, name=sql.name_of(i)) for i in range(len(tables)))
    values = [value for table in tables for value in table.values] + [DRAWN_AT_MOST] * len(tables)
    drawn: list[list[tuple[float, float]]] = [[] for _ in tables]
    totals = [0] * len(tables)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {', '.join(table.text for table in tables)} {each}", values)
        for i, reward, cost, total in cursor.fetchall():
            drawn[i].append((reward, cost))
            totals[i] = total
    return list(zip(drawn, totals, strict=True))
