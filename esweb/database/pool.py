"""A pool of connections that recovers as soon as PostgreSQL does.

psycopg's own pool waits 0, 1, 2, 4 … s between dead connections and between attempts to open one, so that after a
restart of PostgreSQL requests fail or wait for half a minute more. Here the requesting thread opens missing connections
itself, and gets an error of PostgreSQL immediately.

Threads get connections in the order in which they ask. On a busy machine many wait, and each waits as long as others
give connections back: only a pool in which nothing moves refuses after a few seconds.
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
MAX_WAIT_SECONDS = 30.0
"""The longest time for which a thread waits for a connection while others give theirs back."""

Connection = psycopg.Connection[Any]


class Pool:
    """A pool of at most `max_size` connections, with the methods of psycopg's pool that Django calls.

    `connect` opens a connection. A thread that waits gets PoolTimeout if no connection is given back for `timeout`
    seconds, or if its turn has not come in MAX_WAIT_SECONDS.
    """

    def __init__(self, connect: Callable[[], Connection], *, max_size: int, timeout: float) -> None:
        self.max_size, self.timeout = max_size, timeout
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: deque[tuple[Connection, float]] = deque()
        self._taken = 0
        self._waiting: deque[threading.Event] = deque()
        """An event for each waiting thread, in their order. Whoever releases a slot hands it to the first."""
        self._moved_at = time.monotonic()
        """Time at which a connection was last given back."""

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
        is_idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        with self._lock:
            self._moved_at = time.monotonic()
            if is_idle:
                self._idle.append((connection, self._moved_at))
        if not is_idle:
            connection.close()
        self._release_slot()
        self._close_idle(MAX_IDLE_SECONDS)

    def get_stats(self) -> dict[str, int]:
        """Return how many connections there are, how many of them are idle, and how many requests wait for one."""
        with self._lock:
            idle = len(self._idle)
            return {
                "pool_size": self._taken + idle,
                "pool_available": idle,
                "requests_waiting": len(self._waiting),
            }

    def _acquire_slot(self, timeout: float) -> None:
        with self._lock:
            if self._taken < self.max_size and not self._waiting:
                self._taken += 1
                return
            turn, started_at = threading.Event(), time.monotonic()
            self._waiting.append(turn)
        while not turn.wait(max(0.0, self._gives_up_at(started_at, timeout) - time.monotonic())):
            with self._lock:
                is_over = self._gives_up_at(started_at, timeout) <= time.monotonic()
                # The slot may have been handed over since the wait ended.
                if is_over and not turn.is_set():
                    self._waiting.remove(turn)
                    raise PoolTimeout(self._describe_wait(started_at, timeout))

    def _gives_up_at(self, started_at: float, timeout: float) -> float:
        """Return the reading of the monotonic clock at which a thread that waits since `started_at` gives up."""
        return min(max(started_at, self._moved_at) + timeout, started_at + max(timeout, MAX_WAIT_SECONDS))

    def _describe_wait(self, started_at: float, timeout: float) -> str:
        if self._moved_at <= started_at:
            return f"all {self.max_size} connections were in use for {timeout:g} s"
        waited = time.monotonic() - started_at
        return f"{len(self._waiting)} others wait for {self.max_size} connections; no turn came in {waited:.0f} s"

    def _release_slot(self) -> None:
        """Hand the slot to the thread that waits longest, or leave it free."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken -= 1

    def _live_idle(self) -> Connection | None:
        while connection := self._newest_idle():
            if _answers(connection):
                return connection
            # The other idle connections have mostly died with it; a live one that is closed too is soon replaced.
            self._close_idle()
        return None

    def _newest_idle(self) -> Connection | None:
        with self._lock:
            return self._idle.pop()[0] if self._idle else None

    def _close_idle(self, idle_seconds: float = 0.0) -> None:
        """Close the connections that nobody has used for so long."""
        before, old = time.monotonic() - idle_seconds, []
        with self._lock:
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
