"""Queries of the viewer: the page of responses that a query selects, summaries of columns, a sample to plot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import DataError, InternalError, OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from runs.http import MAX_SEARCH_SECONDS, search_slot
from runs.responses.viewer.columns import Columns
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.expressions import complexity_problem
from runs.responses.viewer.response_query import ResponseQuery
from runs.responses.viewer.sql import answer_tables, column_table, page_sql

TIMEOUT_MS = 5_000
"""Statement timeout in milliseconds of queries without a text to search for."""
SEARCH_TIMEOUT_MS = int(1000 * MAX_SEARCH_SECONDS)
"""Statement timeout in milliseconds of a search: a regular expression can run for a very long time."""
MAX_POINTS = 500
"""Dots of a column: as many as can be distinguished, and drawn quickly as SVG."""
POINTS_SQL = """SELECT {i} AS place, reward, cost, total FROM (
    SELECT reward, cost, count(*) OVER () AS total, row_number() OVER (ORDER BY hashint8(id)) AS n
    FROM {name} WHERE reward IS NOT NULL AND cost IS NOT NULL
) AS chosen WHERE n <= %s"""
SUM_SQL = """SELECT {i} AS place, count(*), avg(reward), avg(cost),
    count(*) FILTER (WHERE cost <= 0) / NULLIF(count(cost), 0)::float8,
    count(*) FILTER (WHERE cost <= 0 AND reward > 0), count(*) FILTER (WHERE cost <= 0 AND reward <= 0),
    count(*) FILTER (WHERE cost > 0 AND reward > 0), count(*) FILTER (WHERE cost > 0 AND reward <= 0)
FROM {name}"""


class QueryFailed(Exception):
    """A query that took too long, or has an invalid regular expression. The message states the reason."""


@dataclass(frozen=True)
class Row:
    """A row: the cursor of its prompt and sample, and each column's response id, None if there is none."""

    cursor: ResponseCursor
    answers: tuple[int | None, ...]


@dataclass(frozen=True)
class ResponsePage:
    """A page of rows, the number of matching rows and of all rows, and whether there are rows before and after."""

    rows: list[Row]
    matching: int
    total: int
    has_before: bool
    has_after: bool


def find(
    columns: Columns,
    query: ResponseQuery,
    size: int,
    after: ResponseCursor | None = None,
    before: ResponseCursor | None = None,
) -> ResponsePage:
    """Return the next `size` rows, or those before a cursor, by one query.

    A search for a text waits for a slot. Raise QueryFailed, or SearchesBusy if there is no slot.
    """
    if query.regex and (problem := complexity_problem(query.text)):
        raise QueryFailed(problem)
    sql = page_sql(columns, query, size + 1, after, before)
    slot = search_slot(columns.person.pk) if query.text else nullcontext()
    with slot, _limited_time(SEARCH_TIMEOUT_MS if query.text else TIMEOUT_MS), connection.cursor() as cursor:
        cursor.execute(sql.text, sql.values)
        fetched = cursor.fetchall()
    matching, total = fetched[0][-2:]
    rows = [Row(ResponseCursor(*values), tuple(ids)) for *values, ids, _, _ in fetched if ids is not None]
    is_more = len(rows) > size
    if before is not None:
        return ResponsePage(rows[-size:], matching, total, has_before=is_more, has_after=True)
    return ResponsePage(rows[:size], matching, total, has_before=after is not None, has_after=is_more)


@contextmanager
def _limited_time(milliseconds: int) -> Iterator[None]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # PostgreSQL has no statistics of the rows of a column: thousands must not be joined by a nested loop.
            cursor.execute(f"SET LOCAL statement_timeout = {milliseconds}; SET LOCAL enable_nestloop = off")
            yield
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise QueryFailed(f"the query took more than {milliseconds // 1000} s; simplify it") from error
    except (DataError, InternalError) as error:
        # An expression may be invalid, or need more memory than PostgreSQL allows, which raises InternalError.
        raise QueryFailed(str(error).strip().splitlines()[0]) from error


Points = tuple[list[tuple[float, float]], int]
"""(reward and cost of the dots to draw, number of all dots)."""


def points(columns: Columns, query: ResponseQuery) -> list[Points]:
    """Return the sampled points of each column, and how many there are. One query."""
    tables = answer_tables(columns, query)
    each = " UNION ALL ".join(POINTS_SQL.format(i=i, name=column_table(i)) for i in range(len(tables)))
    values = [value for table in tables for value in table.values] + [MAX_POINTS] * len(tables)
    points_by_column: list[list[tuple[float, float]]] = [[] for _ in tables]
    totals = [0] * len(tables)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {', '.join(table.text for table in tables)} {each}", values)
        for i, reward, cost, total in cursor.fetchall():
            points_by_column[i].append((reward, cost))
            totals[i] = total
    return list(zip(points_by_column, totals, strict=True))


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of a column: the number of its responses, their means, the safe share, and the number in each quadrant.

    A value is None if the answers were not scored.
    """

    n: int
    reward: float | None
    cost: float | None
    safe: float | None
    sh: int
    su: int
    uh: int
    uu: int

    @property
    def quadrants(self) -> list[tuple[str, int]]:
        """Return each quadrant with its number of responses."""
        return [("SH", self.sh), ("SU", self.su), ("UH", self.uh), ("UU", self.uu)]


def sums(columns: Columns, query: ResponseQuery) -> list[ColumnSummary]:
    """Return the summary of each column. One query."""
    tables = answer_tables(columns, query)
    each = " UNION ALL ".join(SUM_SQL.format(i=i, name=column_table(i)) for i in range(len(tables)))
    with connection.cursor() as cursor:
        text = f"WITH {', '.join(table.text for table in tables)} {each} ORDER BY place"
        cursor.execute(text, [value for table in tables for value in table.values])
        return [_sum(*row[1:]) for row in cursor.fetchall()]


def _sum(n: int, reward: Any, cost: Any, safe: Any, *inside: int) -> ColumnSummary:
    return ColumnSummary(n, _real(reward), _real(cost), _real(safe), *inside)


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
