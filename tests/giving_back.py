"""Sees that tests give back the connections that they take: the pool has few, and those who come later wait in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

PATIENCE_SECONDS = 90.0


@pytest.fixture(autouse=True)
def gives_connections_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Around every test, but for those of pages: a site that is looked at keeps some while it stands."""
    before = taken_by_others()
    yield
    if request.node.get_closest_marker("browser") is None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while taken_by_others() > before and time.monotonic() < deadline:
            time.sleep(0.02)
        assert taken_by_others() <= before, "a thread of this test keeps a connection: connection.close() gives it back"


def taken_by_others() -> int:
    """Connections to the database that threads hold, but for this one."""
    held = sum(map(_taken, DatabaseWrapper._connection_pools.values()))
    return held - (connection.connection is not None)


def _taken(pool) -> int:
    now = pool.get_stats()
    return now.get("pool_size", 0) - now.get("pool_available", 0)
