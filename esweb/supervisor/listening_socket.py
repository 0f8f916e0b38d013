"""The socket that the web answers on: made before everything else, and asked until the web is well."""

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
    """A listening socket. Raises CannotStart where the port is taken or the address is not ours."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OverflowError:
        raise CannotStart(f"A port is a number from 0 to 65535, not {port}.") from None
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise CannotStart(f"Port {port} on {host} cannot be used ({reason}). Choose another with --port.") from error
    with listening:
        yield listening


def address_of(listening: socket.socket) -> str:
    """http://host:port, as a browser on this machine wants it."""
    host, port = _reachable(listening)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Wellness:
    """Asks /healthz without ever waiting for the answer: true once a look finds that it came and was good.

    A socket that listens takes the question before the web is there to answer it; one is enough, until it is answered.
    """

    def __init__(self, listening: socket.socket) -> None:
        self.where = _reachable(listening)
        self.asked: socket.socket | None = None
        self.ask_at = 0.0

    def __call__(self) -> bool:
        if self.asked is None:
            if time.monotonic() >= self.ask_at:
                self._ask()
            return False
        if not select.select([self.asked], [], [], 0)[0]:
            return False
        return self._is_good(self._answer(self.asked))

    def _ask(self) -> None:
        self.ask_at = time.monotonic() + ASK_AGAIN_SECONDS
        try:
            self.asked = socket.create_connection(self.where, timeout=1)
            self.asked.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        except OSError:
            self._forget()

    def _answer(self, asked: socket.socket) -> bytes:
        try:
            return asked.recv(32)
        except OSError:
            return b""
        finally:
            self._forget()

    def _forget(self) -> None:
        if self.asked:
            self.asked.close()
        self.asked = None

    @staticmethod
    def _is_good(answer: bytes) -> bool:
        return answer[:12] == b"HTTP/1.1 200"


def _reachable(listening: socket.socket) -> tuple[str, int]:
    host, port = listening.getsockname()[:2]
    return EVERYWHERE.get(host, host), port
