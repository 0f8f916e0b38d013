"""Publishing of a run's news to every web process, after the commit: a lost message costs time, never points."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from runs.metrics.json_numbers import Points, wire
from runs.metrics.packing import Block, unpack

log = logging.getLogger(__name__)

CHANNEL = "esweb:run:"
CHANGES = ("state", "responses", "population", "engines", "log", "checkpoints", "probes", "attacks")
# Larger batches are read from the database by the processes that need them, instead of being copied to all.
MAX_CELLS = 5_000


@dataclass(frozen=True)
class News:
    """A message. For points, the batch `cursor` follows the batch `previous`; `points` is None if they are too many to
    send. For a change, `changed` names what a page should fetch again."""

    run: str
    cursor: int = 0
    previous: int = 0
    points: Points | None = None
    changed: str = ""


def publish_points(run_uid: str, cursor: int, points: Block, data: bytes, *, previous: int = 0) -> None:
    """Publish a committed batch; `data` are its `points` packed. `previous` is the run's batch before it, so that
    readers detect a gap."""
    header: dict[str, Any] = {"cursor": cursor, "previous": previous}
    if points.cells <= MAX_CELLS:
        _publish(run_uid, header | {"keys": points.keys}, data)
    else:
        _publish(run_uid, header)


def publish_changed(run_uid: str, what: str) -> None:
    """Publish what to fetch again, one of CHANGES. Call after the commit."""
    if what not in CHANGES:
        raise ValueError(f"what must be one of {', '.join(CHANGES)}, not {what!r}")
    _publish(run_uid, {"changed": what})


def news(run_uid: str, message: bytes) -> News:
    """Decode a message that was published."""
    header_bytes, _, data = message.partition(b"\n")
    header = orjson.loads(header_bytes)
    keys = header.pop("keys", None)
    # Unpack here, in the processes of viewers, and not in those of writers.
    return News(run_uid, **header, points=None if keys is None else wire(unpack(keys, data)))


@cache
def _client(url: str) -> redis.Redis:
    # Retry a dead connection once; do not wait twice for a frozen server.
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1, retry=retry)


def _publish(run_uid: str, header: dict[str, Any], data: bytes = b"") -> None:
    try:
        _client(settings.REDIS_URL).publish(CHANNEL + run_uid, orjson.dumps(header) + b"\n" + data)
    except redis.RedisError as error:
        log.warning("Could not publish news of run %s; open pages catch up later: %s", run_uid, error)
