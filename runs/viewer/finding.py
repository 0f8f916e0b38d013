"""Asks the database for a page of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DataError, InternalError, OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from runs.viewer import sql
from runs.viewer.asked import ResponseQuery
from runs.viewer.columns import Columns
from runs.viewer.expressions import complexity_problem
from runs.viewer.place import ResponseCursor

PATIENCE_MS = 5_000
"""A regular expression can be made that never ends."""


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
    statement = sql.page(columns, asked, size + 1, after, before)
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
