"""Answer 429 with Retry-After to pushes that a web process cannot take now, instead of leaving them to wait.

A process handles a fixed number of pushes at a time, a few fewer than there are connections to the database, so that
pages have some. A fixed number of others wait for up to two seconds. A refused client tries again and loses nothing: a
refused push has stored nothing, and a repeated one counts once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.http import HttpRequest, HttpResponse

from esweb.middleware.precheck import get_precheck
from runs.http import problem

API, PUSHES = "/api/v1/", "/records"
RESERVED_CONNECTIONS = 2
"""Connections to the database that pushes leave free."""
MAX_CONCURRENT_PUSHES = max(1, settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] - RESERVED_CONNECTIONS)
MAX_WAITING_PUSHES = 96
"""A hundred trainings may push at the same moment. A waiting push is at most 1 MiB, and waits for PATIENCE_SECONDS."""
PATIENCE_SECONDS = 2.0
RETRY_SECONDS = 1


class Overloaded(Exception):
    """No slot is free. The message gives the reason."""


class PushSlots:
    """Slots for so many pushes at a time, and so many more that wait."""

    def __init__(self, max_concurrent: int, waiting: int, patience_seconds: float) -> None:
        self.max_concurrent, self.waiting, self.patience_seconds = max_concurrent, waiting, patience_seconds
        self._free = threading.Semaphore(max_concurrent)
        self._queue = threading.Semaphore(max_concurrent + waiting)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Hold a slot while the block runs. Raise Overloaded if the queue is full, or did not move in time."""
        if not self._queue.acquire(blocking=False):
            raise Overloaded(f"{self.max_concurrent} pushes are being processed and {self.waiting} are waiting")
        try:
            if not self._free.acquire(timeout=self.patience_seconds):
                raise Overloaded(f"no push finished within {self.patience_seconds:g} s")
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._queue.release()


class BackPressure:
    """The middleware. All requests of the process share its slots."""

    slots = PushSlots(MAX_CONCURRENT_PUSHES, MAX_WAITING_PUSHES, PATIENCE_SECONDS)

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.method == "POST" and request.path.startswith(API) and request.path.endswith(PUSHES)):
            return self.get_response(request)
        try:
            if reason := get_precheck(request).overload_reason:
                raise Overloaded(reason)
            check_connections()
            with self.slots.occupied():
                return self.get_response(request)
        except Overloaded as overloaded:
            answer = problem(429, f"Overloaded: {overloaded}. Try again in {RETRY_SECONDS} s")
            answer["Retry-After"] = str(RETRY_SECONDS)
            return answer


def check_connections() -> None:
    """Raise Overloaded if requests already wait for a connection to the database, and the pool cannot grow."""
    database = connections["default"]
    pool = database.pool if isinstance(database, DatabaseWrapper) else None
    if pool is None:
        return
    now = pool.get_stats()
    # Below its size a pool grows: requests that wait there wait for a connection that is being opened.
    if now.get("pool_size", 0) >= pool.max_size and (waiting := now.get("requests_waiting", 0)):
        raise Overloaded(f"{waiting} requests are waiting for one of {pool.max_size} database connections")
