"""Slots for searches, which may keep the database or the processor busy for seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext

from runs.http.user_slots import POOL_SIZE, Reader, SlotsBusy, UserSlots

MAX_SEARCH_SECONDS = 2.0
"""The time after which a search is stopped."""
PATIENCE_SECONDS = 3.0
"""The time that a search waits for a slot: longer than a search takes, so that a user's only search gets its turn."""
MAX_CONCURRENT_SEARCHES = max(1, min(POOL_SIZE // 4, settings.CORES // 2))
"""A part of the connections to the database, and of the processor's cores, which the database often shares."""


class SearchesBusy(SlotsBusy):
    """No slot became free in time."""

    @property
    def detail(self) -> str:
        return gettext("Other searches are running, so this one has not begun. Try again in a few seconds.")


class SearchSlots(UserSlots):
    """Slots for so many searches at a time. A search waits at most `patience_seconds` for one."""

    def __init__(self, max_concurrent: int, patience_seconds: float) -> None:
        super().__init__(max_concurrent, patience_seconds, SearchesBusy)


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
