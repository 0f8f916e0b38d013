"""The web's listening socket: created before everything else, and polled until the web is well."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from esweb.embedded import CannotStart

ASK_AGAIN_SECONDS = 0.5
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (compared with, not bound to)


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a listening socket. Raise CannotStart if the port is taken or the address is not ours."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OverflowError:
        raise CannotStart(f"The port must be a number from 0 to 65535, not {port}.") from None
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise CannotStart(
            f"Port {port} on {host} cannot be used ({reason}). Choose another one with --port."
        ) from error
    with listener:
        yield listener


def address_of(listener: socket.socket) -> str:
    """Return http://host:port, for a browser on this machine."""
    host, port = _reachable(listener)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HealthPoller:
    """A poller of /healthz that never waits for the answer: calling it is true once a good answer has arrived.

    A listening socket accepts the request before the web can answer it; one request is enough, until it is answered.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.address = _reachable(listener)
        self.connection: socket.socket | None = None
        self.next_ask_at = 0.0

    def __call__(self) -> bool:
        if self.connection is None:
            if time.monotonic() >= self.next_ask_at:
                self._ask()
            return False
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        return self._is_good(self._read_answer(self.connection))

    def _ask(self) -> None:
        self.next_ask_at = time.monotonic() + ASK_AGAIN_SECONDS
        try:
            self.connection = socket.create_connection(self.address, timeout=1)
            self.connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        except OSError:
            self._close()

    def _read_answer(self, connection: socket.socket) -> bytes:
        try:
            return connection.recv(32)
        except OSError:
            return b""
        finally:
            self._close()

    def _close(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection = None

    @staticmethod
    def _is_good(answer: bytes) -> bool:
        return answer[:12] == b"HTTP/1.1 200"


def _reachable(listener: socket.socket) -> tuple[str, int]:
    host, port = listener.getsockname()[:2]
    return EVERYWHERE.get(host, host), port
