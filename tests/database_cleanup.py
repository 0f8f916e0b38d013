"""Empties the database after a test with real transactions by deleting the few rows that it left.

Django truncates every table, which makes all their files anew, and then names all content types and permissions again:
a quarter of a second for each such test. Deleting leaves as little behind. Content types and permissions stay as the
migrations made them, and so does the cluster `local`: other tests may follow in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from psycopg import sql
from psycopg.errors import DeadlockDetected

from runs.models import Cluster

DEADLOCKS = 5
MADE_BY_MIGRATING = {"django_content_type", "auth_permission"}
as_django_does = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def emptied_quickly() -> Iterator[None]:
    """For every test, in the place of Django's own way."""
    with mock.patch.object(TransactionTestCase, "_fixture_teardown", emptied):
        yield


def emptied(case: TransactionTestCase) -> None:
    """Deletes all rows. Where the database's user may not pass over foreign keys, it is emptied as Django does."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW is_superuser")
        may = cursor.fetchone() == ("on",)
    if may:
        delete_all_but_for(DEADLOCKS)
    else:
        as_django_does(case)


def delete_all_but_for(deadlocks: int) -> None:
    """Deletes all rows. A server may be writing for a request that outlasts its test: where it and we wait for each
    other, PostgreSQL sends one of us away."""
    try:
        delete_all()
    except OperationalError as error:
        if not deadlocks or not isinstance(error.__cause__, DeadlockDetected):
            raise
        delete_all_but_for(deadlocks - 1)


def delete_all() -> None:
    """Deletes what every table of a model holds, once nobody is writing to it any more."""
    names = sorted(set(connection.introspection.django_table_names(only_existing=True)) - MADE_BY_MIGRATING)
    tables = [sql.Identifier(name) for name in names]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(sql.SQL(", ").join(tables)))
        cursor.execute("SET LOCAL session_replication_role = replica")
        has_rows = [sql.SQL("EXISTS (SELECT FROM {})").format(table) for table in tables]
        cursor.execute(sql.SQL("SELECT {}").format(sql.SQL(", ").join(has_rows)))
        for table, filled in zip(tables, cursor.fetchone(), strict=True):
            if filled:
                cursor.execute(sql.SQL("DELETE FROM {}").format(table))
        Cluster.objects.create(name="local", kind="local")
