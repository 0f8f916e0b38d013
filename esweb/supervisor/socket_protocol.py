"""uvicorn's WebSocket protocol, with limits for clients who are silent or read nothing.

uvicorn pings each client and closes a socket whose client does not answer. But it tells the application so only once
the client has taken everything that was sent before: until then, a message to that socket is an error of the
application, and a client that reads nothing keeps the socket for ever. Here such a socket counts as disconnected
immediately, and is cut off if it does not close in time.
"""

from __future__ import annotations

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

PING_SECONDS = 20.0
"""The time between two pings, and the time that a client has to answer one."""
CLOSE_SECONDS = 5.0
"""The time in which a client must take the last messages of a socket that the server closes."""


class LimitedSocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket of a client."""

    _abort_timer: asyncio.TimerHandle | None = None

    def keepalive_timeout(self) -> None:
        """Close the socket of a client that did not answer a ping."""
        super().keepalive_timeout()
        self._disconnect()

    def handle_parser_exception(self) -> None:
        """Close the socket of a client that sent what is not allowed, such as a message that is too long."""
        super().handle_parser_exception()
        self._disconnect()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message of the application. Raise ClientDisconnected if the client is gone."""
        await super().send(message)
        if self.close_sent:
            self._abort_in(self.close_timeout + CLOSE_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for the client."""
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        super().connection_lost(exc)

    def _disconnect(self) -> None:
        """Let the next message of the application, and one that waits for the client, raise ClientDisconnected."""
        self.disconnected = True
        self.writable.set()
        self._abort_in(CLOSE_SECONDS)

    def _abort_in(self, seconds: float) -> None:
        if self._abort_timer is None:
            self._abort_timer = self.loop.call_later(seconds, self.transport.abort)
