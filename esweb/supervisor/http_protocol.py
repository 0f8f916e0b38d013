"""uvicorn's HTTP protocol, with limits for clients who are slow, endless or many.

uvicorn itself waits for headers and bodies, and for a client to read its response, as long as the client likes, and
takes any number of connections. Middleware cannot limit that: it runs once the headers have arrived, and does not see
the bytes. Here the server has patience with each connection. Waiting for the client uses it up and bytes earn it back,
so that a steady upload or download may take hours, and a silent client is disconnected. `docs/decisions/0051` gives
the reasons. WebSockets have limits of their own, in `socket_protocol.py`.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from esweb.middleware.client_address import client_address

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 30.0
"""The time that the server waits for a client who sends nothing, or reads nothing."""
MIN_BYTES_PER_SECOND = 1000
"""The speed at which a body or a response must move in the long run. Headers are short, and earn no time."""
MAX_HEADER_BYTES = 64 * 1024
"""The longest headers, or trailers of a body in chunks."""
CHECK_SECONDS = 1.0
MAX_CHECKED_SECONDS = 2.0
"""The most seconds that one check counts; those beyond are counted by the next ones.

A busy server checks late, and may not yet have read what has arrived: it reads it before the next check.
"""
RESERVED_FILES = 256
"""Files of the process that are no connections of clients: of the code, the database, threads and logs."""
FILES_PER_CONNECTION = 2
"""The connection itself, and the body that waits on the disk for its end."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection of a client."""

    patience_seconds = PATIENCE_SECONDS
    _uncounted_seconds = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection. If there are too many, close one that waits for its client, else this one."""
        super().connection_made(transport)
        self._renew_patience()
        self._checked_at = self.loop.time()
        self.received_bytes = self._checked_bytes = self._unread_bytes = self._bytes_without_body = 0
        self._is_in_headers = True
        self._started: RequestResponseCycle | None = None
        self._timer = self.loop.call_later(CHECK_SECONDS, self.check)
        if not all(_make_room(self, crowd, limit) for crowd, limit in _crowds(self)):
            self.refuse(503, "Too many connections. Try again in a few seconds.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop checking. End the request that is being answered, which uvicorn forgets if others wait behind it."""
        self._timer.cancel()
        if request := self._open_request:
            request.disconnected = True
            request.message_event.set()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Stop checking: a WebSocket has pings, which a client that is silent or reads nothing does not answer."""
        self._timer.cancel()
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        """Parse the bytes. Refuse a request that has sent too many of them without a byte of its body."""
        self.received_bytes += len(data)
        self._bytes_without_body += len(data)
        super().data_received(data)
        if self._bytes_without_body > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.refuse(431, f"The headers of a request may have at most {MAX_HEADER_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._is_in_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the body, with new patience."""
        self._is_in_headers, self._bytes_without_body = False, 0
        self._renew_patience()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        self._bytes_without_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        self._is_in_headers, self._bytes_without_body = True, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, with new patience."""
        self._renew_patience()
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Continue with a response of which the client has read a good part."""
        self._renew_patience()
        super().resume_writing()

    @property
    def waits_for_client(self) -> bool:
        """Return whether the client must act next: send, or read what was sent to it."""
        if self.transport.get_write_buffer_size():
            return True
        return self._open_request is None or (self.cycle.more_body and not self.flow.read_paused)

    @property
    def is_idle(self) -> bool:
        """Return whether the connection is between two requests. uvicorn closes it soon."""
        return self.timeout_keep_alive_task is not None and not self.transport.get_write_buffer_size()

    @property
    def _open_request(self) -> RequestResponseCycle | None:
        """Return the request that is being answered; others may wait behind it."""
        return None if self._started is None or self._started.response_complete else self._started

    def refuse(self, status: int, reason: str) -> None:
        """Close the connection, after this response if none has begun."""
        log.debug("Connection of %s is closed with %d: %s", self.client and self.client[0], status, reason)
        request = self._open_request
        if (request and request.response_started) or self.transport.get_write_buffer_size():
            # What the client has not read would keep the connection open.
            self.transport.abort()
            return
        headers = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n"
        retry = b"retry-after: 5\r\n" if status == 503 else b""
        body = f"{reason}\n".encode()
        self.transport.write(STATUS_LINE[status] + headers % len(body) + retry + b"\r\n" + body)
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._started = cycle
        super()._start_asgi_task(cycle, app)

    def check(self) -> None:
        """Use up patience for the time since the last check."""
        self._timer = self.loop.call_later(CHECK_SECONDS, self.check)
        now = self.loop.time()
        self.use_patience(now - self._checked_at)
        self._checked_at = now

    def use_patience(self, seconds: float) -> None:
        """Use up patience if the connection waits for its client. Close it if none is left."""
        moved = self._count_moved_bytes()
        if self.is_idle or not self.waits_for_client:
            self._renew_patience()
            return
        self._uncounted_seconds += seconds
        counted = min(self._uncounted_seconds, MAX_CHECKED_SECONDS)
        self._uncounted_seconds -= counted
        left = self.patience_seconds - counted + moved / MIN_BYTES_PER_SECOND
        self.patience_seconds = min(PATIENCE_SECONDS, left)
        if left < 0:
            self.refuse(408, f"The client was silent for {PATIENCE_SECONDS:g} s, or too slow.")

    def _renew_patience(self) -> None:
        self.patience_seconds, self._uncounted_seconds = PATIENCE_SECONDS, 0.0

    def _count_moved_bytes(self) -> int:
        """Return how many bytes of a body have arrived, or of a response were read, since the last check."""
        unread = self.transport.get_write_buffer_size()
        read = max(0, self._unread_bytes - unread)
        arrived = 0 if self._is_in_headers else self.received_bytes - self._checked_bytes
        self._unread_bytes, self._checked_bytes = unread, self.received_bytes
        return read if unread else arrived


def _crowds(new: LimitedHttpProtocol) -> Iterable[tuple[list[Any], int]]:
    """Yield the connections of all clients, and those from the same address, each with its limit."""
    everyone: list[Any] = list(new.connections)
    yield everyone, max_connections()
    peer = new.client[0] if new.client else ""
    if len(everyone) > settings.CONNECTIONS_PER_ADDRESS and not _is_proxy(peer):
        own = _network(peer)
        crowd = [other for other in everyone if other.client and _network(other.client[0]) == own]
        yield crowd, settings.CONNECTIONS_PER_ADDRESS


def _make_room(new: LimitedHttpProtocol, crowd: list[Any], limit: int) -> bool:
    """Return whether the crowd, with a new connection, is within the limit; make it so by closing the one whose client
    keeps it waiting longest and has sent least."""
    if len(crowd) <= limit:
        return True
    waiting = [other for other in crowd if isinstance(other, LimitedHttpProtocol) and other is not new]
    waiting = [other for other in waiting if other.waits_for_client and not other.transport.is_closing()]
    if not waiting:
        return False
    slowest = min(waiting, key=lambda other: (not other.is_idle, other.patience_seconds, other.received_bytes))
    slowest.refuse(503, "Too many connections. This one waited longest for its client.")
    return True


def max_connections() -> int:
    """Return how many connections a process takes: as the setting says, or fewer if it may open few files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return settings.MAX_CONNECTIONS
    return max(1, min(settings.MAX_CONNECTIONS, (soft - RESERVED_FILES) // FILES_PER_CONNECTION))


def raise_file_limit() -> None:
    """Let the process open as many files as its connections need, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = RESERVED_FILES + FILES_PER_CONNECTION * settings.MAX_CONNECTIONS
    if soft != resource.RLIM_INFINITY and soft < needed:
        allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


@lru_cache(maxsize=4096)
def _network(peer: str) -> str:
    """Return the address by which callers are counted: for IPv6, the network of a client."""
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = peer
    return client_address(request)


@lru_cache(maxsize=4096)
def _is_proxy(peer: str) -> bool:
    """Return whether the peer is a proxy of this site, behind which there may be any number of clients."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    return any(address in network for network in settings.PROXIES)
