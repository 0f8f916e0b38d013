"""Requests to an ASGI application, as a server hands them over."""

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
class Knock:
    """A request: POST of a body in as many messages as it has parts."""

    path: str
    body: Sequence[bytes] = (b"",)
    headers: Sequence[tuple[str, str]] = ()
    query: str = ""
    method: str = "POST"

    def with_headers(self, **headers: str) -> Knock:
        """The same with these headers instead of any of that name."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        kept = [(name, text) for name, text in self.headers if name not in named]
        return replace(self, headers=[*kept, *named.items()])

    @property
    def scope(self) -> dict[str, Any]:
        """What the server says of it."""
        headers = [(name.encode(), text.encode()) for name, text in self.headers]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": self.method,
            "path": self.path, "raw_path": self.path.encode(), "query_string": self.query.encode(), "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80),
        }  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What was answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@async_to_sync
async def knock(app: App, request: Knock, *, goes_away: bool = False) -> Answer:
    """The answer. `goes_away` ends the connection instead of sending the last part of the body."""
    communicator = ApplicationCommunicator(app, request.scope)
    for number, part in enumerate(request.body, 1):
        is_last = number == len(request.body)
        message = {"type": "http.request", "body": part, "more_body": not is_last}
        await communicator.send_input({"type": "http.disconnect"} if is_last and goes_away else message)
    if goes_away:
        await communicator.wait(PATIENCE_SECONDS)
        return Answer(0, {}, b"")
    start = await communicator.receive_output(PATIENCE_SECONDS)
    body = await communicator.receive_output(PATIENCE_SECONDS)
    whole = [body["body"]]
    while body.get("more_body"):
        body = await communicator.receive_output(PATIENCE_SECONDS)
        whole.append(body["body"])
    await communicator.wait(PATIENCE_SECONDS)
    headers = {name.decode().lower(): text.decode() for name, text in start["headers"]}
    return Answer(start["status"], headers, b"".join(whole))
