"""Store the records of a plain push by one statement; the API handles all other pushes.

`esweb.middleware.fast_ingest` calls it in front of Django; `docs/decisions/0013` says why.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import monotonic

import psycopg
from ninja.errors import HttpError
from psycopg_pool import PoolTimeout

from runs.access import digest
from runs.http import Invalid
from runs.ingest.api import COLUMNAR
from runs.ingest.columnar import BadColumns, Columns, as_columns
from runs.ingest.fast_insert import insert_push
from runs.ingest.record_body import inflate, read_columns, read_lines
from runs.ingest.writer import PushResult

log = logging.getLogger(__name__)
WRITER_SECONDS, MAX_WRITERS = 10.0, 10_000
"""Seconds for which a valid token is not looked up again before a body is read, and maximum of remembered tokens."""


@dataclass(frozen=True)
class Push:
    """A request that may be a plain push, before its body is read."""

    key: str
    epoch: int
    authorization: str
    content_type: str
    is_gzip: bool
    is_small: bool

    @property
    def token(self) -> str:
        return self.authorization.removeprefix("Bearer ")


class KnownWriters:
    """Tokens that were valid recently, with the attempts that they may write. Only the event loop uses it."""

    def __init__(self, seconds: float = WRITER_SECONDS, size: int = MAX_WRITERS) -> None:
        self.seconds, self.size = seconds, size
        self._until: dict[tuple[str, str], float] = {}

    def knows(self, token: str, key: str) -> bool:
        """Return whether the token was valid for the attempt within the last `seconds`."""
        return self._until.get((digest(token), key), 0.0) > monotonic()

    def add(self, token: str, key: str) -> None:
        """Remember that the token is valid for the attempt."""
        if len(self._until) >= self.size:
            self._until.clear()
        self._until[digest(token), key] = monotonic() + self.seconds


def store_push(push: Push, body: bytes) -> PushResult | None:
    """Store the records of a push. Return None if the API must handle it: to refuse it, or to read other records."""
    try:
        columns = _columns(push, inflate(body) if push.is_gzip else body)
        return None if columns is None else insert_push(push.token, push.key, push.epoch, columns)
    except (BadColumns, Invalid, HttpError):
        return None
    except (psycopg.Error, PoolTimeout) as error:
        log.warning("Fast push failed in the database; the API handles the push: %s", error)
        return None


def _columns(push: Push, body: bytes) -> Columns | None:
    if push.content_type == COLUMNAR:
        return read_columns(body)
    # Lines of other kinds are not parsed here, because the route would parse them again.
    is_metrics = body.count(b'"metric"') > body.count(b"\n", 0, -1)
    return as_columns(read_lines(body)) if is_metrics else None
