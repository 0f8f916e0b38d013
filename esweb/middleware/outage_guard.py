"""Answer 503, in front of Django, to requests that hang because PostgreSQL or Valkey has frozen.

A frozen server neither answers nor refuses, so the thread of a request waits for as long as the server is frozen. After
a while without an answer the guard asks both servers itself. If one is silent, it answers in Django's place; what the
thread sends later is dropped. If both are well, the request is only slow, and continues.
`docs/decisions/0032` gives the reasons.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from django.conf import settings

from esweb.bootstrap import health
from esweb.middleware.asgi_types import App, Message, Receive, Scope, Send
from esweb.middleware.outage_errors import DATABASE
from esweb.middleware.outages import answer_in_front

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.5
"""The time that a request may take before the servers are checked; with their time to answer, it is four seconds."""


class OutageGuard:
    """The ASGI application. `site` may hang, `ask` returns the name of a silent server or nothing."""

    def __init__(self, site: App, ask: Callable[[], str] = health.silent_server) -> None:
        self.site, self._ask = site, ask
        self._health_check: asyncio.Task[str] | None = None
        self._is_database_silent = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _needs_no_server(scope["path"]):
            await self.site(scope, receive, send)
        elif self._is_database_silent and await self.silent_server() == DATABASE:
            # No thread is started: as many may hang already as there are connections.
            await _answer(scope, send, DATABASE, began=False)
        else:
            pending = _PendingRequest(self, scope, receive, send)
            try:
                await self.site(scope, pending.receive, pending.send)
            finally:
                pending.end()

    async def silent_server(self) -> str:
        """Return the name of a server that does not answer, or nothing. All requests share one check."""
        if self._health_check is None or self._health_check.done():
            self._health_check = asyncio.create_task(asyncio.to_thread(self._ask))
        server = await asyncio.shield(self._health_check)
        self._is_database_silent = server == DATABASE
        return server


class _PendingRequest:
    """A request that is checked every few seconds until its answer has begun."""

    def __init__(self, guard: OutageGuard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard, self._scope, self._receive, self._send = guard, scope, receive, send
        self._is_given_up = self._is_body_whole = False
        self._look: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(PATIENCE_SECONDS, self._start_look)

    async def receive(self) -> Message:
        """Receive for the site. The disconnect that follows the guard's answer is hidden from it, so that a request
        whose body has arrived ends as usual, and releases what it holds."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._is_body_whole = not message.get("more_body")
        elif self._is_given_up and self._is_body_whole:
            return await asyncio.Future()
        return message

    async def send(self, message: Message) -> None:
        """Send the site's answer, or drop it if the request was given up."""
        if self._is_given_up:
            return
        self.end()
        await self._send(message)

    def end(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_look(self) -> None:
        self._look = self._loop.create_task(self._look_at_servers())

    async def _look_at_servers(self) -> None:
        server = await self._guard.silent_server()
        if self._timer is None:
            return
        if not server:
            self._timer = self._loop.call_later(PATIENCE_SECONDS, self._start_look)
            return
        self._is_given_up = True
        await _answer(self._scope, self._send, server, began=True)


def _needs_no_server(path: str) -> bool:
    return path == health.ADDRESS or path.startswith(settings.STATIC_URL)


async def _answer(scope: Scope, send: Send, server: str, *, began: bool) -> None:
    log.warning(
        "Outage guard answers %s %s with 503: the %s does not answer", scope["method"], scope["path"][:200], server
    )
    answer = answer_in_front(scope, server, began=began)
    headers = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in answer.items()]
    headers.append((b"content-length", b"%d" % len(answer.content)))
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else answer.content
    await send({"type": "http.response.body", "body": body})
