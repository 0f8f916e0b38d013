"""Sees that tests give back the connections that they take: the pool has few, and those who come later wait in vain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def gives_connections_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Around every test, but for those of pages: a site that is looked at keeps some while it stands."""
    before = taken_by_others()
    yield
    if request.node.get_closest_marker("browser") is None:
        wait_until(
            lambda: taken_by_others() <= before,
            "every thread of this test to give its connection back, which connection.close() does",
        )


def taken_by_others() -> int:
    """Connections to the database that threads hold, but for this one."""
    held = sum(map(_taken, DatabaseWrapper._connection_pools.values()))
    return held - (connection.connection is not None)


def _taken(pool) -> int:
    now = pool.get_stats()
    return now.get("pool_size", 0) - now.get("pool_available", 0)
