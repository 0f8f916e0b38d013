"""The guard in front of Django: slow requests continue, hanging ones get one reply, and pending bodies are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from esweb.middleware import outage_guard
from esweb.middleware.outage_guard import OutageGuard
from tests.waiting import wait_until_async

Message = dict[str, Any]
SCOPE = {"type": "http", "method": "POST", "path": "/experiments/", "query_string": b"", "headers": []}
FINE = {"type": "http.response.start", "status": 200, "headers": []}
WHOLE = {"type": "http.request", "body": b"", "more_body": False}


class Client:
    """Sends a request in these messages, and then waits; it disconnects when it has its answer."""

    def __init__(self, *messages: Message) -> None:
        self.messages, self.answered = list(messages), asyncio.Event()
        self.received: list[Message] = []

    async def receive(self) -> Message:
        """Return the next message, as a server does."""
        if self.messages:
            return self.messages.pop(0)
        await self.answered.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take in a part of the answer."""
        self.received.append(message)
        if message["type"] == "http.response.body":
            self.answered.set()

    @property
    def status(self) -> int:
        """Return the status of the answer."""
        (start,) = [message for message in self.received if message["type"] == "http.response.start"]
        return int(start["status"])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the guard check the servers immediately."""
    monkeypatch.setattr(outage_guard, "PATIENCE_SECONDS", 0.01)


def test_slow_request_continues_while_both_servers_reply() -> None:
    async def run() -> tuple[int, int]:
        client, checks = Client(WHOLE), list[str]()

        async def slow(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
            await wait_until_async(lambda: _value(len(checks) > 2), "the servers to be asked again and again")
            await send(FINE)

        await OutageGuard(slow, lambda: checks.append("asked") or "")(SCOPE, client.receive, client.send)
        return client.status, len(checks)

    status, check_count = asyncio.run(run())
    assert status == 200
    assert check_count > 2


def test_late_answer_of_a_given_up_request_is_dropped() -> None:
    async def run() -> Client:
        client = Client(WHOLE)

        async def late(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
            await receive()
            disconnect = asyncio.create_task(receive())
            await client.answered.wait()
            assert not disconnect.done(), "it is told of a disconnect, and would be cancelled"
            disconnect.cancel()
            await send(FINE)
            await send({"type": "http.response.body", "body": b"too late"})

        await OutageGuard(late, lambda: "database")(SCOPE, client.receive, client.send)
        return client

    client = asyncio.run(run())
    assert client.status == 503
    assert len(client.received) == 2
    assert b"It is unknown whether the change was stored" in client.received[1]["body"]


def test_body_under_way_ends_with_the_client_of_a_given_up_request() -> None:
    async def run() -> list[str]:
        client = Client({"type": "http.request", "body": b"a", "more_body": True})
        kinds: list[str] = []

        async def reading(scope: Any, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
            while "http.disconnect" not in kinds:
                kinds.append((await receive())["type"])

        await OutageGuard(reading, lambda: "database")(SCOPE, client.receive, client.send)
        return kinds

    assert asyncio.run(run()) == ["http.request", "http.disconnect"]


def test_request_is_not_started_while_the_database_is_known_to_be_silent() -> None:
    async def run() -> tuple[list[str], list[int], bytes]:
        silent, started = ["database"], list[str]()
        guard = OutageGuard(_hangs_once(started), lambda: silent[0])
        clients = [Client(WHOLE) for _ in range(3)]
        stuck = asyncio.create_task(guard(SCOPE, clients[0].receive, clients[0].send))
        await clients[0].answered.wait()
        await guard(SCOPE, clients[1].receive, clients[1].send)
        silent[0] = ""
        await guard(SCOPE, clients[2].receive, clients[2].send)
        stuck.cancel()
        return started, [client.status for client in clients], clients[1].received[1]["body"]

    started, statuses, body = asyncio.run(run())
    assert len(started) == 2
    assert statuses == [503, 503, 200]
    assert b"unknown" not in body


def _hangs_once(started: list[str]) -> Callable[..., Awaitable[None]]:
    async def site(scope: Any, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        started.append("started")
        if len(started) == 1:
            await asyncio.Future()
        await send(FINE)

    return site


async def _value(value: bool) -> bool:
    return value
