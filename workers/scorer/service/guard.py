"""Stands before every route: who may ask, and how much. What is refused never reaches the parser."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable
from typing import Any

from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics

OPEN = ("/health",)
"""Without a token: what watches a service knows none."""
KNOWN = ("/health", "/metrics", "/score", "/score_batch", "/score_texts")
"""Routes that are counted by name; others are "other", for anybody may ask for anything."""


class HungUp(Exception):
    """The client went away before it had sent its whole request."""


class Guard:
    """ASGI middleware. `token` says the present token, "" where none is wanted."""

    def __init__(self, app: Any, limits: Limits, metrics: Metrics, token: Callable[[], str]) -> None:
        self._app, self._limits, self._metrics, self._token = app, limits, metrics, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), [500]

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        try:
            await self._guarded(scope, receive, counted)
        finally:
            route = scope["path"] if scope["path"] in KNOWN else "other"
            self._metrics.requests.labels(route, str(status[0])).inc()
            self._metrics.seconds.observe(time.monotonic() - begun)

    async def _guarded(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if scope["path"] not in OPEN and not self._may(headers.get(b"authorization", b"")):
            await _refused(send, 401, "give the scorer's token: Authorization: Bearer TOKEN")
            return
        most = self._limits.body_bytes
        said = f"a request may have {most} bytes: send fewer or shorter texts"
        length = headers.get(b"content-length", b"0")
        try:
            body = await _body(receive, most) if length.isdigit() and int(length) <= most else None
        except HungUp:
            await _refused(send, 499, "the client has hung up")
            return
        if body is None:
            await _refused(send, 413, said)
            return
        await self._app(scope, _again(body, receive), send)

    def _may(self, shown: bytes) -> bool:
        token = self._token()
        return not token or hmac.compare_digest(shown, f"Bearer {token}".encode())


async def _body(receive: Any, most: int) -> bytes | None:
    """The whole body; None where it is too long, which a request need not say before. Raises HungUp."""
    body, more = bytearray(), True
    while more and len(body) <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return None if len(body) > most else bytes(body)


def _again(body: bytes, receive: Any) -> Any:
    """What was read, for the application to receive; then what comes after it: that the client hangs up."""
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return unread.pop() if unread else await receive()

    return received


async def _refused(send: Any, status: int, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
