"""A pool of connections that recovers as soon as PostgreSQL does.

psycopg's own pool waits 0, 1, 2, 4 … s between dead connections and between attempts to open one, so that after a
restart of PostgreSQL requests fail or wait for half a minute more. Here the requesting thread opens missing connections
itself, and gets an error of PostgreSQL immediately.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolTimeout

MAX_IDLE_SECONDS = 600.0

Connection = psycopg.Connection[Any]


class Pool:
    """A pool of at most `max_size` connections, with the methods of psycopg's pool that Django calls.

    `connect` opens a connection. A thread that waits longer than `timeout` seconds for one gets PoolTimeout.
    """

    def __init__(self, connect: Callable[[], Connection], *, max_size: int, timeout: float) -> None:
        self.max_size, self.timeout = max_size, timeout
        self._connect = connect
        self._changed = threading.Condition()
        self._idle: deque[tuple[Connection, float]] = deque()
        self._taken = self._waiting = 0

    def open(self) -> None:
        """Do nothing: connections are opened on demand."""

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._close_idle()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to the block: commit at its end, roll back at an error."""
        lent = self.getconn()
        try:
            with lent:
                yield lent
        finally:
            self.putconn(lent)

    def getconn(self, timeout: float | None = None) -> Connection:
        """Return a connection that answers. Raise PoolTimeout, or psycopg.Error if none can be opened."""
        self._acquire_slot(self.timeout if timeout is None else timeout)
        try:
            connection = self._live_idle() or self._connect()
        except BaseException:
            self._release_slot()
            raise
        # Django gives it back there, and `with` does not close what belongs to a pool.
        connection._pool = self  # type: ignore[assignment]
        return connection

    def putconn(self, connection: Connection) -> None:
        """Take a connection back. Close it if it is broken, or in a transaction."""
        connection._pool = None
        if connection.pgconn.transaction_status == TransactionStatus.IDLE:
            with self._changed:
                self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
        self._release_slot()
        self._close_idle(MAX_IDLE_SECONDS)

    def get_stats(self) -> dict[str, int]:
        """Return how many connections there are, how many of them are idle, and how many requests wait for one."""
        with self._changed:
            idle = len(self._idle)
            return {
                "pool_size": self._taken + idle,
                "pool_available": idle,
                "requests_waiting": self._waiting,
            }

    def _acquire_slot(self, timeout: float) -> None:
        with self._changed:
            self._waiting += 1
            try:
                if not self._changed.wait_for(lambda: self._taken < self.max_size, timeout):
                    raise PoolTimeout(f"all {self.max_size} connections were in use for {timeout:g} s")
                self._taken += 1
            finally:
                self._waiting -= 1

    def _release_slot(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()

    def _live_idle(self) -> Connection | None:
        while connection := self._newest_idle():
            if _answers(connection):
                return connection
            # The other idle connections have mostly died with it; a live one that is closed too is soon replaced.
            self._close_idle()
        return None

    def _newest_idle(self) -> Connection | None:
        with self._changed:
            return self._idle.pop()[0] if self._idle else None

    def _close_idle(self, idle_seconds: float = 0.0) -> None:
        """Close the connections that nobody has used for so long."""
        before, old = time.monotonic() - idle_seconds, []
        with self._changed:
            while self._idle and self._idle[0][1] <= before:
                old.append(self._idle.popleft()[0])
        for connection in old:
            connection.close()


def _answers(connection: Connection) -> bool:
    try:
        connection.execute("")
    except psycopg.Error:
        connection.close()
        return False
    return True
