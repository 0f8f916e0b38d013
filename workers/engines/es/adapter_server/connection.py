"""Requests to the adapter server over HTTP. Threads may share a connection: each request opens a socket of its own."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from workers.bearer import bearer, redacted
from workers.engines.es.adapter_server.lookup import FINAL, Address, ServerLost, ServerRefused
from workers.outgoing import HostNotAllowed, InvalidReply, describe_failure, describe_status, opener, parse_json

CHUNK_BYTES = 65536
MAX_BYTES = 512 * 1024 * 1024
MESSAGE_BYTES = 1000


class Connection:
    """Sends requests to the address that `find` returns, which is looked up again after a failure.

    A request takes at most `timeout_seconds`. Methods raise ServerLost and ServerRefused, without the token or the
    reply in any message.
    """

    def __init__(self, find: Callable[[], Address], timeout_seconds: float) -> None:
        self._find = find
        self._timeout_seconds = timeout_seconds
        self._target: tuple[Address, urllib.request.OpenerDirector] | None = None

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        return self._json(path, self._send("GET", path, None, None))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send JSON. Return the reply's JSON."""
        return self._json(path, self.post_text(path, body))

    def post_text(self, path: str, body: Mapping[str, Any], seconds: float | None = None) -> str:
        """Send JSON. Return the reply's text. `seconds` replaces the time limit."""
        return self._send("POST", path, json.dumps(body).encode(), seconds)

    def _json(self, path: str, text: str) -> Any:
        try:
            return parse_json(text)
        except InvalidReply:
            raise ServerRefused(f"did not reply with JSON at {path}") from None

    def _send(self, method: str, path: str, body: bytes | None, seconds: float | None) -> str:
        address, address_opener = self._target = self._target or self._find_target()
        seconds = self._timeout_seconds if seconds is None else seconds
        headers = {"Content-Type": "application/json", **bearer(address.token)}
        request = urllib.request.Request(address.url + path, body, headers, method=method)  # noqa: S310 checked
        try:
            with address_opener.open(request, timeout=seconds) as response:
                return _read(response, time.monotonic() + seconds)
        except HostNotAllowed as error:
            self._target = None
            raise ServerRefused(f"is not called: {error}") from None
        except urllib.error.HTTPError as error:
            self._target = None
            raise _failure_for_status(error, path) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._target = None
            reason = describe_failure(error)
            raise ServerLost(redacted(f"gave no reply at {address.url}{path}: {reason}", address.token)) from None

    def _find_target(self) -> tuple[Address, urllib.request.OpenerDirector]:
        """Return where the server is now, and the opener that connects to its checked addresses."""
        address = self._find()
        try:
            return address, opener(address.url, address.hosts)
        except HostNotAllowed as error:
            raise ServerRefused(f"is not called: {error}") from None


def _failure_for_status(error: urllib.error.HTTPError, path: str) -> Exception:
    """Return the exception for a status other than 200."""
    try:
        reply = error.read(MESSAGE_BYTES).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        # The status says enough.
        reply = ""
    message = f"replied to {path} with {describe_status(error.code)}"
    if error.code in FINAL or 300 <= error.code < 400:
        return ServerRefused(message, error.code, reply)
    return ServerLost(message, error.code)


def _read(response: Any, deadline: float) -> str:
    """Return the text within a total time limit: a socket's own timeout starts again with each byte."""
    chunks, size = [], 0
    while chunk := response.read1(CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if time.monotonic() > deadline:
            raise TimeoutError("the reply did not end in time")
        if size > MAX_BYTES:
            raise InvalidReply(f"the reply is longer than {MAX_BYTES} bytes")
    if response.length:
        raise http.client.IncompleteRead(b"".join(chunks), response.length)
    return b"".join(chunks).decode()
