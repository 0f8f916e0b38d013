"""HTTP connections of the scorer's client: no redirect, and, if wanted, only to addresses that a resolver returns.

Stdlib only.
"""

from __future__ import annotations

import http.client
import socket
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

from workers.bearer import OPENER, NoRedirects

Resolve = Callable[[str, int], str]
"""(host name, port) -> the address to connect to. May raise."""


def opener(resolve: Resolve | None) -> urllib.request.OpenerDirector:
    """Return an opener that follows no redirect. With `resolve` it connects to the addresses that this returns, and
    uses no proxy, which would look the name up for itself."""
    if resolve is None:
        return OPENER
    handlers = (_Http(resolve), _Https(resolve), urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(NoRedirects, *handlers)


class _HttpConnection(http.client.HTTPConnection):
    """A connection to the address that `resolve` returns for its host. The request keeps the host's name."""

    def __init__(self, host: str, *, resolve: Resolve, **options: Any) -> None:
        super().__init__(host, **options)
        self._resolve = resolve

    def connect(self) -> None:
        """Connect. Raise what `resolve` raises, and OSError."""
        self.sock = socket.create_connection((self._resolve(self.host, self.port), self.port), self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _HttpsConnection(http.client.HTTPSConnection, _HttpConnection):
    """The same with TLS, which `HTTPSConnection.connect` adds; the certificate is checked against the host's name."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, resolve: Resolve) -> None:
        super().__init__()
        self._connection = partial(_HttpConnection, resolve=resolve)

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, resolve: Resolve) -> None:
        super().__init__()
        self._connection = partial(_HttpsConnection, resolve=resolve)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)
