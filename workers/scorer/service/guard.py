"""Check the token and the size of each request before every route. A refused request never reaches the parser."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable
from typing import Any

from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics

OPEN_ROUTES = ("/health",)
"""Routes without a token: health checks do not know one."""
COUNTED_ROUTES = ("/health", "/metrics", "/score", "/score_batch", "/score_texts")
"""Routes that are counted by name; all others are "other", because clients may request any path."""


class HungUp(Exception):
    """The client went away before it had sent its whole request."""


class Guard:
    """ASGI middleware. `token` returns the current token, "" if none is required."""

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
            await self._forward(scope, receive, counted)
        finally:
            route = scope["path"] if scope["path"] in COUNTED_ROUTES else "other"
            self._metrics.requests.labels(route, str(status[0])).inc()
            self._metrics.seconds.observe(time.monotonic() - begun)

    async def _forward(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if scope["path"] not in OPEN_ROUTES and not self._is_allowed(headers.get(b"authorization", b"")):
            await _send_refusal(send, 401, "send the scorer's token: Authorization: Bearer TOKEN")
            return
        limit = self._limits.body_bytes
        message = f"a request may have at most {limit} bytes: send fewer or shorter texts"
        length = headers.get(b"content-length", b"0")
        try:
            body = await _read_body(receive, limit) if length.isdigit() and int(length) <= limit else None
        except HungUp:
            await _send_refusal(send, 499, "the client closed the connection")
            return
        if body is None:
            await _send_refusal(send, 413, message)
            return
        await self._app(scope, _replay(body, receive), send)

    def _is_allowed(self, authorization: bytes) -> bool:
        token = self._token()
        return not token or hmac.compare_digest(authorization, f"Bearer {token}".encode())


async def _read_body(receive: Any, limit: int) -> bytes | None:
    """Return the whole body; None if it is too long, which its headers need not declare. Raise HungUp."""
    body, more = bytearray(), True
    while more and len(body) <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return None if len(body) > limit else bytes(body)


def _replay(body: bytes, receive: Any) -> Any:
    """Return a receive function that gives the body to the application, and then the client's messages, such as a
    disconnect."""
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return unread.pop() if unread else await receive()

    return received


async def _send_refusal(send: Any, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
