"""Requests to an ASGI application, in the messages that a server sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator

from tests.waiting import PATIENCE_SECONDS

App = Any


@dataclass(frozen=True)
class AsgiRequest:
    """A request: POST of a body in as many messages as it has parts."""

    path: str
    body: Sequence[bytes] = (b"",)
    headers: Sequence[tuple[str, str]] = ()
    query: str = ""
    method: str = "POST"

    def with_headers(self, **headers: str) -> AsgiRequest:
        """Return the same request with these headers instead of any of their names."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        other_headers = [(name, text) for name, text in self.headers if name not in named]
        return replace(self, headers=[*other_headers, *named.items()])

    @property
    def scope(self) -> dict[str, Any]:
        """Return the ASGI scope of the request."""
        headers = [(name.encode(), text.encode()) for name, text in self.headers]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": self.method,
            "path": self.path, "raw_path": self.path.encode(), "query_string": self.query.encode(), "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80),
        }  # fmt: skip


@dataclass(frozen=True)
class AsgiReply:
    """The reply to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@async_to_sync
async def send_request(app: App, request: AsgiRequest, *, goes_away: bool = False) -> AsgiReply:
    """Return the reply. `goes_away` ends the connection instead of sending the last part of the body."""
    communicator = ApplicationCommunicator(app, request.scope)
    for number, part in enumerate(request.body, 1):
        is_last = number == len(request.body)
        message = {"type": "http.request", "body": part, "more_body": not is_last}
        await communicator.send_input({"type": "http.disconnect"} if is_last and goes_away else message)
    if goes_away:
        await communicator.wait(PATIENCE_SECONDS)
        return AsgiReply(0, {}, b"")
    start = await communicator.receive_output(PATIENCE_SECONDS)
    body = await communicator.receive_output(PATIENCE_SECONDS)
    whole = [body["body"]]
    while body.get("more_body"):
        body = await communicator.receive_output(PATIENCE_SECONDS)
        whole.append(body.get("body", b""))
    await communicator.wait(PATIENCE_SECONDS)
    headers = {name.decode().lower(): text.decode() for name, text in start["headers"]}
    return AsgiReply(start["status"], headers, b"".join(whole))
