"""Requests to the site's ASGI application, with a count of the bytes of the body that were taken from the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from tests.esweb.asgi_requests import Knock
from tests.waiting import PATIENCE_SECONDS

PIECE = b"x" * (64 * 1024)


@dataclass(frozen=True)
class Delivery:
    """How a request was answered, and how much of its body was read, in bytes and in calls of `receive`."""

    status: int
    bytes_read: int
    calls: int


def endless() -> Iterator[bytes]:
    """Yield the pieces of a body that is longer than any limit in these tests: 32 MiB, lest a failure fill the disk."""
    for _ in range(512):
        yield PIECE


@async_to_sync
async def deliver(app: Any, request: Knock, pieces: Iterable[bytes]) -> Delivery:
    """Send the request, piece by piece as the application asks for them, and return what became of it.

    The client neither goes away nor ends the body before its pieces end.
    """
    left, status, taken, calls, has_ended = iter(pieces), 0, 0, 0, False

    async def receive() -> dict[str, Any]:
        nonlocal taken, calls, has_ended
        if has_ended:
            await asyncio.Future()
        calls += 1
        piece = next(left, None)
        has_ended = piece is None
        taken += len(piece or b"")
        return {"type": "http.request", "body": piece or b"", "more_body": not has_ended}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    await asyncio.wait_for(app(request.scope, receive, send), PATIENCE_SECONDS)
    return Delivery(status, taken, calls)
