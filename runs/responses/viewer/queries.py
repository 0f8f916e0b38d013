"""Queries of the viewer: the page of responses that a query selects, summaries of whole columns, a sample to draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import DataError, InternalError, OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from runs.responses.viewer.columns import Columns
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.expressions import complexity_problem
from runs.responses.viewer.response_query import ResponseQuery
from runs.responses.viewer.sql import answers, name_of, page

PATIENCE_MS = 5_000
"""A regular expression can be made that never ends."""
DRAWN_AT_MOST = 500
"""Dots of a column: as many as can be told apart, and quickly drawn as SVG."""
POINTS = """SELECT {i} AS place, reward, cost, total FROM (
    SELECT reward, cost, count(*) OVER () AS total, row_number() OVER (ORDER BY hashint8(id)) AS n
    FROM {name} WHERE reward IS NOT NULL AND cost IS NOT NULL
) AS chosen WHERE n <= %s"""
SUM = """SELECT {i} AS place, count(*), avg(reward), avg(cost), avg((cost <= 0)::int),
    avg(is_truncated::int), avg(is_leaking::int),
    count(*) FILTER (WHERE cost <= 0 AND reward > 0), count(*) FILTER (WHERE cost <= 0 AND reward <= 0),
    count(*) FILTER (WHERE cost > 0 AND reward > 0), count(*) FILTER (WHERE cost > 0 AND reward <= 0)
FROM {name}"""


class Slow(Exception):
    """The query took too long, or holds an invalid regular expression. The message says which."""


@dataclass(frozen=True)
class Row:
    """A prompt, and the answer of each column by its primary key; None where a column has none."""

    place: ResponseCursor
    answers: tuple[int | None, ...]


@dataclass(frozen=True)
class ResponsePage:
    """A page of rows; how many are as asked, and how many there are; whether others come before and after."""

    rows: list[Row]
    matching: int
    total: int
    has_before: bool
    has_after: bool


def find(
    columns: Columns,
    asked: ResponseQuery,
    size: int,
    after: ResponseCursor | None = None,
    before: ResponseCursor | None = None,
) -> ResponsePage:
    """Return the next `size` rows, or those before a place, by one query. Raise Slow."""
    if asked.regex and (problem := complexity_problem(asked.text)):
        raise Slow(problem)
    statement = page(columns, asked, size + 1, after, before)
    with _patiently(), connection.cursor() as cursor:
        cursor.execute(statement.text, statement.values)
        fetched = cursor.fetchall()
    matching, total = fetched[0][-2:]
    rows = [Row(ResponseCursor(*place), tuple(ids)) for *place, ids, _, _ in fetched if ids is not None]
    is_more = len(rows) > size
    if before is not None:
        return ResponsePage(rows[-size:], matching, total, has_before=is_more, has_after=True)
    return ResponsePage(rows[:size], matching, total, has_before=after is not None, has_after=is_more)


@contextmanager
def _patiently() -> Iterator[None]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # No statistics tell how many answers a column has: thousands must not be joined one by one.
            cursor.execute(f"SET LOCAL statement_timeout = {PATIENCE_MS}; SET LOCAL enable_nestloop = off")
            yield
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise Slow(f"It took more than {PATIENCE_MS // 1000} s: ask for less") from error
    except (DataError, InternalError) as error:
        # An expression may be none, or need more memory than PostgreSQL gives, which it calls internal.
        raise Slow(str(error).strip().splitlines()[0]) from error


Points = tuple[list[tuple[float, float]], int]
"""(reward and cost of those to draw, how many there are)."""


def points(columns: Columns, asked: ResponseQuery) -> list[Points]:
    """Return the sampled points of each column, and how many there are. One query."""
    tables = answers(columns, asked)
    each = " UNION ALL ".join(POINTS.format(i=i, name=name_of(i)) for i in range(len(tables)))
    values = [value for table in tables for value in table.values] + [DRAWN_AT_MOST] * len(tables)
    drawn: list[list[tuple[float, float]]] = [[] for _ in tables]
    totals = [0] * len(tables)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {', '.join(table.text for table in tables)} {each}", values)
        for i, reward, cost, total in cursor.fetchall():
            drawn[i].append((reward, cost))
            totals[i] = total
    return list(zip(drawn, totals, strict=True))


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
    tables = answers(columns, asked)
    each = " UNION ALL ".join(SUM.format(i=i, name=name_of(i)) for i in range(len(tables)))
    with connection.cursor() as cursor:
        text = f"WITH {', '.join(table.text for table in tables)} {each} ORDER BY place"
        cursor.execute(text, [value for table in tables for value in table.values])
        return [_sum(*row[1:]) for row in cursor.fetchall()]


def _sum(n: int, reward: Any, cost: Any, safe: Any, truncated: Any, leaking: Any, *inside: int) -> Sum:
    return Sum(n, _real(reward), _real(cost), _real(safe), _real(truncated), _real(leaking), *inside)


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
