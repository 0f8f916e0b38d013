"""Memory for the points that requests of this process hold at the same time: one budget for all of them.

A read takes memory as its points arrive, and its request gives it back at its end. While the budget is used up, only
the request that has held some for longest continues, beyond the budget if it must; the others wait. So two requests
never wait for each other, and any request can be answered alone. Reads outside of a lease, such as those of jobs, are
not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

PATIENCE_SECONDS = 15.0
"""The time that a request waits for memory."""
POINT_BYTES = 24
"""Memory of one point: x, value and mask (17 bytes), and what computing them takes for a moment."""


class MemoryBusy(Exception):
    """No memory became free in time, and the request has changed nothing."""


class MemoryBudget:
    """A budget of so many bytes."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._changed = threading.Condition()
        self._used = 0
        self._leases: dict[Lease, None] = {}
        """Leases that have asked for memory, the oldest first."""

    @property
    def used(self) -> int:
        """Return how many bytes are in use."""
        return self._used

    def take(self, lease: Lease, size: int) -> None:
        """Add so many bytes to a lease. Raise MemoryBusy if they do not become free in time."""
        with self._changed:
            self._leases.setdefault(lease)
            if not self._changed.wait_for(lambda: self._may_take(lease, size), lease.patience_seconds):
                raise MemoryBusy
            lease.size += size
            self._used += size

    def give_back(self, lease: Lease) -> None:
        """Give all bytes of a lease back."""
        with self._changed:
            self._leases.pop(lease, None)
            self._used, lease.size = self._used - lease.size, 0
            self._changed.notify_all()

    def wait_until_free(self, lease: Lease) -> None:
        """Wait until not all of it is in use, without a connection to the database. Raise MemoryBusy if that takes too
        long."""
        if self._used < self.max_bytes:
            return
        if not connection.in_atomic_block:
            # A request keeps its connection until it ends, and others need it while this one waits.
            connection.close()
        with self._changed:
            if not self._changed.wait_for(lambda: self._used < self.max_bytes, lease.patience_seconds):
                raise MemoryBusy

    def _may_take(self, lease: Lease, size: int) -> bool:
        return self._used + size <= self.max_bytes or next(iter(self._leases)) is lease


class Lease:
    """Memory that a request holds. Reads in a block `with lease.active()` take theirs from it."""

    def __init__(self, budget: MemoryBudget, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.size, self.patience_seconds = 0, patience_seconds
        self._budget = budget

    def take(self, size: int) -> None:
        """Take so many bytes. Raise MemoryBusy if they do not become free in time."""
        self._budget.take(self, size)

    def wait(self) -> None:
        """Wait, before the first read, until not all memory is in use. Raise MemoryBusy if that takes too long."""
        if not self.size:
            self._budget.wait_until_free(self)

    def give_back(self) -> None:
        """Give all memory back."""
        self._budget.give_back(self)

    @contextmanager
    def active(self) -> Iterator[Lease]:
        """Let reads of this thread take their memory from this lease while the block runs."""
        outer, _thread.lease = getattr(_thread, "lease", None), self
        try:
            yield self
        finally:
            _thread.lease = outer


_thread = threading.local()
budget = MemoryBudget(settings.SERIES_MEMORY_MB * 2**20)


@contextmanager
def request_memory() -> Iterator[Lease]:
    """Hold memory for the reads of the block until its end."""
    lease = Lease(budget)
    try:
        with lease.active():
            yield lease
    finally:
        lease.give_back()


def start_read() -> None:
    """Wait for memory before a request's first read, while it needs no connection. Raise MemoryBusy."""
    lease: Lease | None = getattr(_thread, "lease", None)
    if lease is not None:
        lease.wait()


def take_memory(size: int) -> None:
    """Take so many bytes for a read of this thread, if it runs in a lease. Raise MemoryBusy."""
    lease: Lease | None = getattr(_thread, "lease", None)
    if lease is not None:
        lease.take(size)
