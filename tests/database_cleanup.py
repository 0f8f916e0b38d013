"""Empty the database after a test with real transactions by deleting the few rows that it left.

Django truncates every table, which creates all their files again, and then inserts all content types and permissions:
a quarter of a second for each such test. Deleting has the same result. Content types, permissions and the cluster
`local` stay as the migrations made them: other tests may follow in any order.
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

MAX_DEADLOCKS = 5
MADE_BY_MIGRATING = {"django_content_type", "auth_permission"}
django_teardown = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def fast_database_cleanup() -> Iterator[None]:
    """Replace Django's cleanup for every test."""
    with mock.patch.object(TransactionTestCase, "_fixture_teardown", empty_database):
        yield


def empty_database(case: TransactionTestCase) -> None:
    """Delete all rows. If the database's user may not ignore foreign keys, use Django's cleanup."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW is_superuser")
        is_superuser = cursor.fetchone() == ("on",)
    if is_superuser:
        delete_all_with_retries(MAX_DEADLOCKS)
    else:
        django_teardown(case)


def delete_all_with_retries(retries: int) -> None:
    """Delete all rows, with `retries` after deadlocks.

    A server may be writing for a request that outlasts its test: if it and this process wait for each other, PostgreSQL
    cancels one of them.
    """
    try:
        delete_all()
    except OperationalError as error:
        if not retries or not isinstance(error.__cause__, DeadlockDetected):
            raise
        delete_all_with_retries(retries - 1)


def delete_all() -> None:
    """Delete the rows of every model's table, once no other connection writes to them."""
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
