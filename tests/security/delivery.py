"""Send requests to the site's ASGI application, and count the bytes of the body that it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from tests.esweb.asgi_requests import AsgiRequest
from tests.waiting import PATIENCE_SECONDS

PIECE = b"x" * (64 * 1024)


@dataclass(frozen=True)
class Delivery:
    """The status of a response, and how much of the body was read, in bytes and in calls of `receive`."""

    status: int
    bytes_read: int
    calls: int


def endless_body() -> Iterator[bytes]:
    """Yield the pieces of a body that is longer than any limit in these tests: 32 MiB, lest a failure fill the disk."""
    for _ in range(512):
        yield PIECE


@async_to_sync
async def deliver(app: Any, request: AsgiRequest, pieces: Iterable[bytes]) -> Delivery:
    """Send the request, piece by piece as the application requests them, and return the result.

    The client neither goes away nor ends the body before its pieces end.
    """
    remaining, status, bytes_read, calls, has_ended = iter(pieces), 0, 0, 0, False

    async def receive() -> dict[str, Any]:
        nonlocal bytes_read, calls, has_ended
        if has_ended:
            await asyncio.Future()
        calls += 1
        piece = next(remaining, None)
        has_ended = piece is None
        bytes_read += len(piece or b"")
        return {"type": "http.request", "body": piece or b"", "more_body": not has_ended}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    await asyncio.wait_for(app(request.scope, receive, send), PATIENCE_SECONDS)
    return Delivery(status, bytes_read, calls)
