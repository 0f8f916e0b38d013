"""Answer every request on a listening socket with 503 *starting*, until SIGTERM: `python starting_page.py FD`.

It imports nothing but the standard library, and little of it: it must answer while everything else still loads.
"""

import contextlib
import selectors
import signal
import socket
import sys
import time

RETRY_SECONDS = 2
MAX_HEADER_BYTES = 64 * 1024
MAX_CONNECTIONS = 500
PATIENCE_SECONDS = 5.0
"""The time that a client has to send its request and to read the response."""
FAREWELL_SECONDS = 1.0
"""The same once another process answers in our place."""
SENTENCE = "esweb is starting. Try again in a few seconds."
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>esweb is starting</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="{RETRY_SECONDS}">
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 20vh auto; padding: 0 1rem }}</style>
</head><body><main><h1>esweb is starting</h1>
<p role="status">This page opens by itself as soon as the site is ready.</p></main></body></html>
"""
PROBLEM = f'{{"title": "Starting", "status": 503, "detail": "{SENTENCE}"}}\n'
HEALTH = '{"web": "starting"}\n'


class Connection:
    """A client: its request so far, and whether it was answered."""

    def __init__(self, client: socket.socket, deadline: float) -> None:
        self.client, self.deadline, self.request, self.is_answered = client, deadline, b"", False

    def read(self) -> bool:
        """Read what has arrived, and answer a request whose headers are whole. Return False once it is over."""
        try:
            data = self.client.recv(65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not self.is_answered:
            self.request += data
            if b"\r\n\r\n" not in self.request and len(self.request) < MAX_HEADER_BYTES and data:
                return True
            self._answer()
        # A body that is still on its way is read and dropped: closing now could take the response away from the client.
        return bool(data)

    def _answer(self) -> None:
        self.is_answered = True
        with contextlib.suppress(OSError):
            self.client.send(response(self.request))
            self.client.shutdown(socket.SHUT_WR)
        self.request = b""


def response(request: bytes) -> bytes:
    """Return the response to a request: a page for a browser, JSON for the API, plain text for others."""
    line, _, headers = request.partition(b"\r\n")
    method, _, target = line.partition(b" ")
    body, kind = SENTENCE + "\n", "text/plain; charset=utf-8"
    if target.startswith(b"/api/"):
        body, kind = PROBLEM, "application/problem+json"
    elif target.startswith(b"/healthz"):
        body, kind = HEALTH, "application/json"
    elif b"text/html" in headers.lower() and b"hx-request" not in headers.lower():
        body, kind = PAGE, "text/html; charset=utf-8"
    content = body.encode()
    lines = (
        "HTTP/1.1 503 Service Unavailable",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
        f"Retry-After: {RETRY_SECONDS}",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        "\r\n",
    )
    return "\r\n".join(lines).encode() + (b"" if method == b"HEAD" else content)


class Server:
    """The server of one listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener, self.is_over = listener, False
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.connections: list[Connection] = []

    def serve(self) -> None:
        """Answer until SIGTERM, then answer the clients that were accepted, for a second."""
        while self.connections or not self.is_over:
            for key, _ in self.selector.select(0.1):
                if key.data is None:
                    self._accept()
                elif not key.data.read():
                    self._close(key.data)
            for late in [one for one in self.connections if time.monotonic() > one.deadline]:
                self._close(late)

    def stop_accepting(self, *_: object) -> None:
        """Leave the listening socket to another process."""
        if self.is_over:
            return
        self.is_over = True
        self.selector.unregister(self.listener)
        for connection in self.connections:
            connection.deadline = min(connection.deadline, time.monotonic() + FAREWELL_SECONDS)

    def _accept(self) -> None:
        if self.is_over:
            return
        if len(self.connections) >= MAX_CONNECTIONS:
            self._close(self.connections[0])
        try:
            client, _ = self.listener.accept()
        except OSError:  # another process was faster
            return
        client.setblocking(False)
        connection = Connection(client, time.monotonic() + PATIENCE_SECONDS)
        self.connections.append(connection)
        self.selector.register(client, selectors.EVENT_READ, connection)

    def _close(self, connection: Connection) -> None:
        self.connections.remove(connection)
        self.selector.unregister(connection.client)
        connection.client.close()


def main(descriptor: int) -> None:
    """Serve on the listening socket of this number."""
    listener = socket.socket(fileno=descriptor)
    # The other processes that share the socket set the same.
    listener.setblocking(False)
    server = Server(listener)
    signal.signal(signal.SIGTERM, server.stop_accepting)
    server.serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
