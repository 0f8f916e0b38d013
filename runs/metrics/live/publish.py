"""Tells every web process what happened to a run, after the commit: a lost message costs time, never points."""

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
CHANGES = ("state", "responses", "population", "engines", "log", "checkpoints")
# Larger batches are read from the database by those who need them, instead of being copied to every process.
MAX_CELLS = 5_000


@dataclass(frozen=True)
class News:
    """One message. Points: the batch `cursor` follows the batch `previous`; `points` is None where they are too many to
    send. Or `changed` says what a page should fetch again."""

    run: str
    cursor: int = 0
    previous: int = 0
    points: Points | None = None
    changed: str = ""


def publish_points(run_uid: str, cursor: int, points: Block, data: bytes, *, previous: int = 0) -> None:
    """Sends the points of a committed batch, and those packed. `previous` is the run's batch before it, so that readers
    see a gap."""
    told: dict[str, Any] = {"cursor": cursor, "previous": previous}
    if points.cells <= MAX_CELLS:
        _publish(run_uid, told | {"keys": points.keys}, data)
    else:
        _publish(run_uid, told)


def publish_changed(run_uid: str, what: str) -> None:
    """Says what to fetch again: state, responses, population, engines, log or checkpoints. Call it after the commit."""
    if what not in CHANGES:
        raise ValueError(f"what must be one of {', '.join(CHANGES)}, not {what!r}")
    _publish(run_uid, {"changed": what})


def news(run_uid: str, message: bytes) -> News:
    """Decode a message that was published."""
    head, _, data = message.partition(b"\n")
    told = orjson.loads(head)
    keys = told.pop("keys", None)
    # Unpacked here, where somebody looks at the run, and not by those who write it.
    return News(run_uid, **told, points=None if keys is None else wire(unpack(keys, data)))


@cache
def _client(url: str) -> redis.Redis:
    # A dead connection is opened anew once; a frozen server is not waited for twice.
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1, retry=retry)


def _publish(run_uid: str, told: dict[str, Any], data: bytes = b"") -> None:
    try:
        _client(settings.REDIS_URL).publish(CHANNEL + run_uid, orjson.dumps(told) + b"\n" + data)
    except redis.RedisError as error:
        log.warning("Open pages of run %s were not told of news, and catch up later: %s", run_uid, error)
