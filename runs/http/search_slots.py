"""Slots for searches, which may keep the database or the processor busy for seconds: few run at the same time, so that
connections and processor time are left for pages.

A search waits a short while for a slot, without a connection to the database, and then gives up. A user has at most
one slot, and the next slot is of the user whose last search is longest ago: a user with many searches delays only
these.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from django.conf import settings
from django.db import connection

MAX_SEARCH_SECONDS = 2.0
"""The time after which a search is stopped."""
PATIENCE_SECONDS = 3.0
"""The time that a search waits for a slot: longer than a search takes, so that a user's only search gets its turn."""
RETRY_SECONDS = 5
POOL_SIZE: int = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
MAX_CONCURRENT_SEARCHES = max(1, min(POOL_SIZE // 4, settings.CORES // 2))
"""A part of the connections to the database, and of the processor's cores, which the database often shares."""
Reader = int | None
"""The id of the user who searches; None for all strangers together."""


class SearchesBusy(Exception):
    """No slot became free in time."""


class SearchSlots:
    """Slots for so many searches at a time. A search waits at most `patience_seconds` for one."""

    def __init__(self, max_concurrent: int, patience_seconds: float) -> None:
        self.patience_seconds = patience_seconds
        self._free = max_concurrent
        self._changed = threading.Condition()
        self._numbers = count(1)
        self._waiting: dict[int, Reader] = {}
        self._searching: set[Reader] = set()
        self._last_turns: dict[Reader, int] = {}

    @property
    def waiting(self) -> int:
        """Return how many searches wait for a slot."""
        return len(self._waiting)

    @contextmanager
    def occupied(self, reader: Reader) -> Iterator[None]:
        """Hold a slot while the block runs. Raise SearchesBusy if none becomes free in time."""
        self._acquire(reader)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._searching.remove(reader)
                self._changed.notify_all()

    def _acquire(self, reader: Reader) -> None:
        with self._changed:
            number = next(self._numbers)
            self._waiting[number] = reader
            try:
                if not self._changed.wait_for(lambda: self._is_next(number), self.patience_seconds):
                    raise SearchesBusy
                self._free -= 1
                self._searching.add(reader)
                self._last_turns[reader] = next(self._numbers)
            finally:
                del self._waiting[number]
                self._changed.notify_all()

    def _is_next(self, number: int) -> bool:
        """Return whether the search of that number gets the next free slot."""
        if not self._free or self._waiting[number] in self._searching:
            return False
        eligible = ((n, reader) for n, reader in self._waiting.items() if reader not in self._searching)
        return number == min(eligible, key=lambda search: (self._last_turns.get(search[1], 0), search[0]))[0]


slots = SearchSlots(MAX_CONCURRENT_SEARCHES, PATIENCE_SECONDS)
_held = threading.local()


@contextmanager
def search_slot(reader: Reader) -> Iterator[None]:
    """Hold one of the process's slots while the block searches. Raise SearchesBusy if none becomes free in time.

    A block within it takes no second slot: what leads to a search may cost as much as the search.
    """
    if getattr(_held, "is_held", False):
        yield
        return
    if not connection.in_atomic_block:
        # A request keeps its connection until it ends, and others need it while this one waits.
        connection.close()
    with slots.occupied(reader):
        _held.is_held = True
        try:
            yield
        finally:
            _held.is_held = False
