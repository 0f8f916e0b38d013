"""Check that tests return their database connections: the pool has few, and later tests would wait in vain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def connection_leak_check(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check every test, except those in a browser: a running site keeps some connections."""
    before = count_taken_by_others()
    yield
    if request.node.get_closest_marker("browser") is None:
        wait_until(
            lambda: count_taken_by_others() <= before,
            "every thread of this test to give its connection back, which connection.close() does",
        )


def count_taken_by_others() -> int:
    """Return the number of connections to the database that other threads hold."""
    taken = sum(map(_count_taken, DatabaseWrapper._connection_pools.values()))
    return taken - (connection.connection is not None)


def _count_taken(pool) -> int:
    stats = pool.get_stats()
    return stats.get("pool_size", 0) - stats.get("pool_available", 0)
