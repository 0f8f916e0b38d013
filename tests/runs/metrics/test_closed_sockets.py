"""A socket that closes while its page catches up: nothing more is sent to it, and the log has no traceback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from django.contrib.auth.models import User
from django.test import Client
from websockets.exceptions import ConnectionClosed

from esweb.supervisor import socket_protocol
from esweb.supervisor.socket_protocol import LimitedSocketProtocol
from runs.ingest import ingest
from runs.metrics.live import consumer
from runs.models import Attempt, Experiment
from tests.runs.attempt_records import make_attempt, make_run, metrics
from tests.runs.live_server import page, running_server
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
Running = tuple[int, uvicorn.Server]
HANDSHAKE = (
    "GET /ws/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    "Cookie: sessionid={session}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(scope="module")
def running(django_db_setup: None, django_db_blocker: Any) -> Iterator[Running]:
    with django_db_blocker.unblock(), running_server() as started:
        yield started


@pytest.fixture
def attempt(experiment: Experiment) -> Attempt:
    attempt = make_attempt(make_run(experiment))
    ingest(attempt, 0, metrics(3, 0))
    return attempt


class CatchUp:
    """Holds the pages that catch up until it is released."""

    def __init__(self) -> None:
        self.waiting, self._is_released, self._since = 0, False, consumer._since

    def release(self) -> None:
        self._is_released = True

    async def since(self, run_id: int, cursor: int) -> Any:
        self.waiting += 1
        await self._wait()
        try:
            return await self._since(run_id, cursor)
        finally:
            self.waiting -= 1

    async def _wait(self) -> None:
        while not self._is_released:
            await asyncio.sleep(0.01)  # noqa: TID251  (in the server's event loop)


@pytest.fixture
def catch_up(monkeypatch: pytest.MonkeyPatch) -> CatchUp:
    catch_up = CatchUp()
    monkeypatch.setattr(consumer, "_since", catch_up.since)
    return catch_up


class HalfOpen:
    """A transport that stays open when it is closed, as one whose client has not read everything."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        pass


def end_for_want_of_a_pong(server: uvicorn.Server) -> None:
    """Let the time of the server's only client to answer a ping be over, while it has not read everything."""
    (protocol,) = sockets(server)
    protocol.transport = HalfOpen(protocol.transport)  # type: ignore[assignment]
    protocol.loop.call_soon_threadsafe(protocol.keepalive_timeout)
    wait_until(lambda: protocol.close_sent, "the socket to close")


@contextmanager
def silent_page(port: int, user: User) -> Iterator[Callable[[str], None]]:
    """Open a socket that reads nothing and answers no ping. Yield a function that sends a message."""
    session = Client()
    session.force_login(user)
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        client.sendall(HANDSHAKE.format(port=port, session=session.cookies["sessionid"].value).encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 101 ")
        # A text frame, masked with zeros.
        yield lambda message: client.sendall(bytes([0x81, 0x80 | len(message)]) + bytes(4) + message.encode())


def wait_until_idle(server: uvicorn.Server) -> None:
    wait_until(
        lambda: not server.server_state.connections and not server.server_state.tasks,
        "no socket and no application of one to be left",
    )


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.exc_info]


def test_socket_without_pongs_closes_quietly_while_its_page_catches_up(
    running: Running, catch_up: CatchUp, attempt: Attempt, bo: User,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    port, server = running
    monkeypatch.setattr(socket_protocol, "CLOSE_SECONDS", PATIENCE_SECONDS)
    with silent_page(port, bo) as send:
        send(f'{{"watch": {{"{attempt.run.uid}": 0}}}}')
        wait_until(lambda: catch_up.waiting, "the page to catch up")
        end_for_want_of_a_pong(server)
        catch_up.release()
        wait_until(lambda: not catch_up.waiting, "the page to have caught up")
    wait_until_idle(server)
    assert tracebacks(caplog) == []


def test_consumer_that_has_closed_its_socket_sends_nothing_more() -> None:
    """Its two tasks do not wait for each other: one closes the socket while the other catches up."""
    sent: list[str] = []

    async def note(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    async def close_and_send() -> None:
        closing = consumer.LiveConsumer()
        closing.base_send = consumer.Outlet(note)
        await closing.send_json({"type": "watching"})
        await closing.close(consumer.TOO_MANY_MESSAGES)
        await closing.send_json({"type": "behind"})
        await closing.send(text_data="points")
        await closing.close(consumer.BROKEN)

    asyncio.run(close_and_send())
    assert sent == ["websocket.send", "websocket.close"]


def test_error_while_a_page_catches_up_is_logged_and_closes_the_socket(
    running: Running, attempt: Attempt, bo: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(run_id: int, cursor: int) -> None:
        raise ValueError("unreadable batch")

    monkeypatch.setattr(consumer, "_since", fail)
    with page(running[0], bo) as client:
        client.watch(**{attempt.run.uid: 0})
        with pytest.raises(ConnectionClosed) as closed:
            while client.hear():
                pass
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == consumer.BROKEN
    assert "unreadable batch" in caplog.text


def test_socket_of_a_client_that_reads_nothing_is_cut_off(
    running: Running, bo: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, server = running
    monkeypatch.setattr(socket_protocol, "CLOSE_SECONDS", 0.05)
    with silent_page(port, bo):
        wait_until(lambda: sockets(server), "the socket to open")
        end_for_want_of_a_pong(server)
        wait_until_idle(server)


def sockets(server: uvicorn.Server) -> list[LimitedSocketProtocol]:
    """Return the sockets whose handshake is over."""
    connections = server.server_state.connections
    return [one for one in connections if isinstance(one, LimitedSocketProtocol) and one.handshake_complete]
