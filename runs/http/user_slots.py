"""Slots for costly requests, of which few run at the same time, in turn, so that connections to the database and
processor time are left for others.

A request waits for a slot without a connection to the database, and gives up after a while. A user has a part of the
slots, and the next slot is of the user whose last turn is longest ago: a user with many requests delays only these.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from django.conf import settings

RETRY_SECONDS = 5
POOL_SIZE: int = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
Reader = int | None
"""The id of the user who sends the request; None for all strangers together."""


class SlotsBusy(Exception, ABC):
    """No slot became free in time, and the request has changed nothing."""

    @property
    @abstractmethod
    def detail(self) -> str:
        """Return the sentences for the user: what happened, and what to do next."""


@dataclass
class _Turn:
    """A waiting request. The event is set once it has a slot."""

    reader: Reader
    begins: threading.Event = field(default_factory=threading.Event)


class UserSlots:
    """Slots for so many requests at a time, and for `per_user` of each user. A request waits at most `patience_seconds`
    for one, then gets `busy`."""

    def __init__(
        self, max_concurrent: int, patience_seconds: float, busy: type[SlotsBusy], *, per_user: int = 1
    ) -> None:
        self.patience_seconds, self.per_user = patience_seconds, per_user
        self._busy = busy
        self._free = max_concurrent
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._waiting: dict[int, _Turn] = {}
        self._active: Counter[Reader] = Counter()
        self._last_turns: dict[Reader, int] = {}

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a slot."""
        return len(self._waiting)

    @contextmanager
    def occupied(self, reader: Reader) -> Iterator[None]:
        """Hold a slot while the block runs. Raise `busy` if none becomes free in time."""
        self._acquire(reader)
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._active[reader] -= 1
                self._admit()

    def _acquire(self, reader: Reader) -> None:
        turn = _Turn(reader)
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = turn
            self._admit()
        if turn.begins.wait(self.patience_seconds):
            return
        with self._lock:
            # The slot may have been handed over since the wait ended.
            if not turn.begins.is_set():
                del self._waiting[number]
                raise self._busy

    def _admit(self) -> None:
        """Hand free slots to the requests whose turn it is. Only these threads wake up: a hundred others may wait."""
        while self._free and (eligible := [n for n, turn in self._waiting.items() if self._may_have(turn.reader)]):
            turn = self._waiting.pop(min(eligible, key=lambda n: (self._last_turns.get(self._waiting[n].reader, 0), n)))
            self._free -= 1
            self._active[turn.reader] += 1
            self._last_turns[turn.reader] = next(self._numbers)
            turn.begins.set()

    def _may_have(self, reader: Reader) -> bool:
        return self._active[reader] < self.per_user
