"""A body is received up to its limit, with its last byte, and no further."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from esweb.middleware.body_limits import _limited
from esweb.middleware.precheck import scope_precheck
from tests.waiting import PATIENCE_SECONDS


def receive_all(parts: Sequence[bytes], max_bytes: int) -> tuple[list[bytes], Any]:
    """Return the parts that arrive behind the limit, and why the body is refused, if it is."""
    messages = iter([{"type": "http.request", "body": part, "more_body": True} for part in parts])
    scope: dict[str, Any] = {"type": "http"}

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.request", "body": b"", "more_body": False})

    async def read() -> list[bytes]:
        limited, bodies, has_more = _limited(scope, receive, max_bytes), [], True
        while has_more:
            message = await asyncio.wait_for(limited(), PATIENCE_SECONDS)
            bodies.append(message["body"])
            has_more = message["more_body"]
        return bodies

    return asyncio.run(read()), scope_precheck(scope).refusal


def test_body_of_exactly_the_limit_arrives_whole() -> None:
    assert receive_all([b"ab", b"cd"], 4) == ([b"ab", b"cd", b""], None)


def test_body_over_the_limit_ends_there_and_is_refused() -> None:
    bodies, refusal = receive_all([b"ab", b"cde", b"f"], 4)
    assert bodies == [b"ab", b""]
    assert (refusal.status, refusal.max_bytes) == (413, 4)
