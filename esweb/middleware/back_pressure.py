"""Pushes of records that a web process cannot take now are answered 429 with Retry-After at once, never left hanging.

So many are dealt with at a time, a few fewer than there are connections to the database, so that pages keep some; so
many more wait their turn, not longer than a moment. Whoever is sent away asks again and loses nothing: a push that was
refused has kept nothing, and one that is repeated counts once.
"""

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
FOR_PAGES = 2
"""Connections to the database that pushes leave alone."""
AT_ONCE = max(1, settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] - FOR_PAGES)
WAITING = 32
PATIENCE_SECONDS = 2.0
COME_AGAIN_SECONDS = 1


class Full(Exception):
    """There is no place. The message says of what there is too much."""


class Places:
    """So many at a time, so many more in line."""

    def __init__(self, at_once: int, waiting: int, patience_seconds: float) -> None:
        self.at_once, self.waiting, self.patience_seconds = at_once, waiting, patience_seconds
        self._free = threading.Semaphore(at_once)
        self._line = threading.Semaphore(at_once + waiting)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Holds a place while the block runs. Raises Full where the line is full, or did not move in time."""
        if not self._line.acquire(blocking=False):
            raise Full(f"{self.at_once} pushes are being dealt with and {self.waiting} wait already")
        try:
            if not self._free.acquire(timeout=self.patience_seconds):
                raise Full(f"no push was finished within {self.patience_seconds:g} s")
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._line.release()


class BackPressure:
    """The middleware. The places are those of the process."""

    places = Places(AT_ONCE, WAITING, PATIENCE_SECONDS)

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.method == "POST" and request.path.startswith(API) and request.path.endswith(PUSHES)):
            return self.get_response(request)
        try:
            if reason := get_precheck(request).overload_reason:
                raise Full(reason)
            check_connections()
            with self.places.taken():
                return self.get_response(request)
        except Full as full:
            answer = problem(429, f"Too much at once: {full}. Try again in {COME_AGAIN_SECONDS} s")
            answer["Retry-After"] = str(COME_AGAIN_SECONDS)
            return answer


def check_connections() -> None:
    """Raises Full where others already wait for a connection to the database, and there can be no more of them."""
    database = connections["default"]
    pool = database.pool if isinstance(database, DatabaseWrapper) else None
    if pool is None:
        return
    now = pool.get_stats()
    # Below its size a pool grows by itself: who waits there waits for a connection that is being opened.
    if now.get("pool_size", 0) >= pool.max_size and (waiting := now.get("requests_waiting", 0)):
        raise Full(f"{waiting} requests wait for one of {pool.max_size} connections to the database")
