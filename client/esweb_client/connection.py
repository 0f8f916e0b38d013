"""Calls of the server's API with a token: no redirect is followed, and no message repeats the token.

A push every quarter of a second needs an open connection: to connect costs the server more than to store the records.
"""

from __future__ import annotations

import gzip
import http.client
import json
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

MAX_PAUSE_SECONDS = 60.0
MAX_RESPONSE_BYTES = 1024 * 1024
HIDDEN = "•••"


class Unreachable(Exception):
    """The server cannot be reached, or does not respond like a server of this kind."""


class Refusal(Exception):
    """The server refused a request. `body` is its response, `retry_after` the seconds that it names."""

    def __init__(self, status: int, body: dict[str, Any], message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.status, self.body, self.retry_after = status, body, retry_after

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Return (path, message) of each problem that the response names."""
        problems = self.body.get("problems")
        entries = problems if isinstance(problems, list) else []
        return [(str(p.get("path", "")), str(p.get("message", ""))) for p in entries if isinstance(p, dict)]


class Server:
    """The address of a server, without a slash at its end, and a token for it. Only one thread may use it.

    With `keeps_open` its connection stays open from call to call, until `close`.
    """

    def __init__(self, url: str, token: str, *, keeps_open: bool = False) -> None:
        self.url, self.token, self.keeps_open = url, token, keeps_open
        self._connection: http.client.HTTPConnection | None = None
        self._route = Route("", {})

    def post(
        self,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        timeout: float = 30.0,
        *,
        compress: bool = False,
    ) -> dict[str, Any]:
        """Return the response to a POST below /api/v1. Raise Refusal or Unreachable."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": content_type,
            "Accept": "application/json",
        }
        if compress:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        try:
            response, data = self._send(f"/api/v1/{path}", body, headers, timeout)
            if response.status >= 300:
                raise self._refusal(response, data)
            return _parse(data)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            message = self._hide(str(error) or type(error).__name__)
            raise Unreachable(message) from None
        finally:
            if not self.keeps_open:
                self.close()

    def post_json(self, path: str, body: Any, timeout: float = 30.0) -> dict[str, Any]:
        """Return the response to a POST of JSON. Raise Refusal or Unreachable."""
        return self.post(path, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), timeout=timeout)

    def close(self) -> None:
        """Close the connection, if one is open. The next call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _send(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request, and once more if the server has closed the connection that was open. Every call is safe to
        repeat. Raise OSError, HTTPException or ValueError."""
        was_open = self._connection is not None
        try:
            return self._send_once(path, body, headers, timeout)
        except (ConnectionError, http.client.BadStatusLine):
            self.close()
            if not was_open:
                raise
            return self._send_once(path, body, headers, timeout)

    def _send_once(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            self._connection, self._route = _connect(self.url, timeout)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(timeout)
        self._connection.request("POST", f"{self._route.target}{path}", body, {**headers, **self._route.headers})
        response = self._connection.getresponse()
        data = response.read(MAX_RESPONSE_BYTES)
        if not response.isclosed():
            # What is left of a longer response would be read as the beginning of the next one.
            self.close()
        return response, data

    def _refusal(self, response: http.client.HTTPResponse, data: bytes) -> Refusal:
        try:
            body = _parse(data)
        except ValueError:
            body = {}
        detail = str(body.get("detail", "")) or response.reason
        message = self._hide(f"{response.status} {detail}")[:1000]
        return Refusal(response.status, body, message, _retry_after(response))

    def _hide(self, text: str) -> str:
        return text.replace(self.token, HIDDEN) if self.token else text


class Route(NamedTuple):
    """The beginning of all request targets on a connection, and headers that a proxy needs."""

    target: str
    headers: dict[str, str]


def _connect(url: str, timeout: float) -> tuple[http.client.HTTPConnection, Route]:
    """Return a connection to the server, which opens with its first request, and how to use it: through the proxy that
    the environment names for the server, if there is one. Raise ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the server's address must begin with http:// or https://, not {url!r}")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.hostname):
        return kind(parts.hostname, parts.port, timeout=timeout), Route(parts.path, {})
    through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    connection = kind(through.hostname or "", through.port or 80, timeout=timeout)
    headers = _proxy_headers(through.username, through.password)
    if parts.scheme == "http":
        return connection, Route(f"http://{parts.netloc}{parts.path}", headers)
    connection.set_tunnel(parts.hostname, parts.port, headers)
    return connection, Route(parts.path, {})


def _proxy_headers(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    credentials = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(credentials).decode()}"}


def _parse(data: bytes) -> dict[str, Any]:
    """Return the object of a response. Raise ValueError if it is none: then it was not the server that responded."""
    body = json.loads(data or b"{}")
    if not isinstance(body, dict):
        raise ValueError("the response is not an object")
    return body


def _retry_after(response: http.client.HTTPResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return min(MAX_PAUSE_SECONDS, float(text)) if text.isdecimal() else None
