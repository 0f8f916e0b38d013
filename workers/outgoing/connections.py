"""Connections to allowed hosts: a name is looked up once, its addresses are checked, and a checked one is connected to.

No redirect is followed, and no proxy is used, which would look the name up for itself.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from workers.bearer import OPENER, NoRedirects
from workers.outgoing.hosts import PORTS, Entries, Host, addresses, check_address


def opener(url: str, entries: Entries) -> urllib.request.OpenerDirector:
    """Return an opener for a URL that connects to checked addresses of an allowed host; None allows any address. Raise
    HostNotAllowed; requests raise it too, if the host has another address by then."""
    host = check_address(url, entries)
    if host is None:
        return OPENER
    is_encrypted = url.lower().startswith("https:")
    director = urllib.request.OpenerDirector()
    # Nothing else: no proxy, no file, and no handler of the other scheme, which would not check the address.
    for handler in (
        _Https(host) if is_encrypted else _Http(host),
        NoRedirects(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
    ):
        director.add_handler(handler)
    return director


def connect_to(url: str, entries: Entries, seconds: float) -> socket.socket:
    """Connect to the server of a URL, if the entries allow it. Raise HostNotAllowed, OSError and ValueError."""
    host, parts = check_address(url, entries), urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    if host is None:
        return socket.create_connection((parts.hostname or "", port), seconds)
    return connect(host, port, seconds)


def connect(host: Host, port: int, seconds: float | None = None) -> socket.socket:
    """Connect to the first of the host's addresses that accepts. Raise HostNotAllowed if one of them is not permitted,
    and OSError."""
    failure = OSError(f"{host.name} has no address")
    for address in addresses(host, port):
        try:
            return socket.create_connection((address, port), seconds)
        except OSError as error:
            failure = error
    raise failure


class _HttpConnection(http.client.HTTPConnection):
    """A connection to a checked address of its host. The request keeps the host's name."""

    def __init__(self, name: str, *, allowed_host: Host, **options: Any) -> None:
        super().__init__(name, **options)
        self._allowed_host = allowed_host

    def connect(self) -> None:
        """Connect. Raise HostNotAllowed, and OSError."""
        self.sock = connect(self._allowed_host, self.port, self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _HttpsConnection(_HttpConnection):
    """The same with TLS: the certificate is checked against the host's name."""

    default_port = http.client.HTTPS_PORT

    def __init__(self, name: str, *, tls: ssl.SSLContext, **options: Any) -> None:
        super().__init__(name, **options)
        self._tls = tls

    def connect(self) -> None:
        """Connect. Raise HostNotAllowed, and OSError."""
        super().connect()
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._allowed_host.name)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, host: Host) -> None:
        super().__init__()
        self._connection = partial(_HttpConnection, allowed_host=host)

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, host: Host) -> None:
        super().__init__()
        self._connection = partial(_HttpsConnection, allowed_host=host, tls=ssl.create_default_context())

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)
