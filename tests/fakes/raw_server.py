"""A server on loopback that sends given bytes on each connection, in any protocol, and counts the connections."""

from __future__ import annotations

import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECRET = "inside-secret-41d7"
"""A text that only a service of the internal network knows."""


class RawServer(socketserver.ThreadingTCPServer):
    """The server. `connections` is the number of those that it accepted, `received` the first bytes of each."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, reply: bytes, address: str, port: int) -> None:
        super().__init__((address, port), _Handler)
        self.reply, self.connections, self.received = reply, 0, list[bytes]()
        self.port = int(self.server_address[1])
        self.url = f"http://{address}:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection before the reply."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(socketserver.BaseRequestHandler):
    server: RawServer

    def handle(self) -> None:
        self.server.connections += 1
        # The request is read first: a connection that is closed with unread bytes is reset, and its reply lost.
        self.server.received.append(self.request.recv(1 << 20))
        self.request.sendall(self.server.reply)


def http_reply(status: str, body: str, **headers: str) -> bytes:
    """Return the bytes of an HTTP reply. `status`: the code and its phrase, such as 200 OK."""
    fields = {"Content-Length": str(len(body)), "Connection": "close", **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items()), "", body]
    return "\r\n".join(lines).encode()


@contextmanager
def raw_server(reply: bytes, address: str = "127.0.0.1", port: int = 0) -> Iterator[RawServer]:
    """Serve while the block runs."""
    with RawServer(reply, address, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
