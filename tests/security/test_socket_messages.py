"""WebSockets: long messages and floods of them end their socket, and leave the site to others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings
from websockets.exceptions import ConnectionClosed

from runs.metrics.live import allowances
from runs.metrics.live.allowances import MAX_MESSAGES, MAX_SOCKETS, MESSAGES_PER_SECOND, Allowance, Allowances
from runs.metrics.live.consumer import MAX_RUNS, MAX_UID_LENGTH, TOO_LONG, TOO_MANY_MESSAGES, TOO_MANY_SOCKETS
from tests.runs.live_server import Page, page, serving
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)

MAX_BYTES = 64 * 1024
ABNORMAL = 1006
"""The code of a socket whose other end has gone: data that the server has not read can overtake its close frame."""
LARGEST = json.dumps({"watch": {f"{n:0{MAX_UID_LENGTH}}": 2**63 - 1 for n in range(MAX_RUNS)}})
"""The largest message that a page can send."""


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: Any) -> Iterator[int]:
    """Yield the port of a real server."""
    with django_db_blocker.unblock(), serving() as server_port:
        yield server_port


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stop the clock by which allowances grow. Return a list with its reading."""
    now = [0.0]
    monkeypatch.setattr(allowances, "monotonic", lambda: now[0])
    return now


def closing(client: Page) -> tuple[int, list[dict[str, Any]]]:
    """Return the code with which the server closes the socket, and the messages before."""
    messages = []
    try:
        while True:
            messages.append(client.hear())
    except ConnectionClosed as closed:
        assert closed.rcvd is not None
        return closed.rcvd.code, messages


@pytest.mark.parametrize("size", [MAX_BYTES + 1, 15_000_000])
def test_long_message_is_refused_before_it_is_read(port: int, ada: User, size: int) -> None:
    with page(port, ada) as client:
        with pytest.raises(ConnectionClosed):
            client.socket.send("[" * size)
            client.socket.recv(timeout=PATIENCE_SECONDS)
        assert client.socket.close_code in (TOO_LONG, ABNORMAL)
    assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_SECONDS).status_code == 200


def test_long_message_in_fragments_is_refused(port: int, ada: User) -> None:
    with page(port, ada) as client:
        with pytest.raises(ConnectionClosed):
            client.socket.send("[" * 1000 for _ in range(1000))
            client.socket.recv(timeout=PATIENCE_SECONDS)
        assert client.socket.close_code in (TOO_LONG, ABNORMAL)


def test_consumer_has_the_limit_too(port: int, ada: User, settings: Settings) -> None:
    settings.SOCKET_MESSAGE_BYTES = 100
    for message in ("[" * 101, b"[" * 101):
        with page(port, ada) as client:
            client.socket.send(message)
            code, messages = closing(client)
        assert code == TOO_LONG
        assert "at most 100 bytes" in messages[0]["why"]


def test_largest_message_of_a_page_is_far_below_the_limit(port: int, ada: User) -> None:
    assert len(LARGEST) < MAX_BYTES / 4
    with page(port, ada) as client:
        client.socket.send(LARGEST)
        assert [client.hear()["type"] for _ in range(MAX_RUNS + 1)] == ["refused"] * MAX_RUNS + ["watching"]


def test_flood_of_messages_ends_the_socket(port: int, bo: User) -> None:
    with page(port, bo) as client:
        for _ in range(MAX_MESSAGES + 1):
            client.socket.send("[]")
        code, messages = closing(client)
    assert code == TOO_MANY_MESSAGES
    assert len(messages) == MAX_MESSAGES + 1
    assert "Too many messages" in messages[-1]["why"]


def test_another_socket_brings_no_further_messages(port: int, cy: User, ada: User) -> None:
    with page(port, cy) as client:
        for _ in range(MAX_MESSAGES):
            client.socket.send("[]")
        for _ in range(MAX_MESSAGES):
            assert client.hear()["type"] == "error"
        with page(port, cy) as second:
            second.socket.send("[]")
            assert closing(second)[0] == TOO_MANY_MESSAGES
        with page(port, ada) as other:
            other.socket.send("[]")
            assert "at most 100 runs" in other.hear()["why"]


def test_sockets_of_a_user_are_limited(port: int, ada: User, bo: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowances, "MAX_SOCKETS", 3)
    with ExitStack() as stack:
        opened = [stack.enter_context(page(port, ada)) for _ in range(3)]
        for client in opened:
            client.watch()
            assert client.hear()["type"] == "watching"
        with page(port, ada) as fourth:
            code, messages = closing(fourth)
            assert code == TOO_MANY_SOCKETS
            assert str(MAX_SOCKETS) in messages[0]["why"]
        with page(port, bo) as other:
            other.watch()
            assert other.hear()["type"] == "watching"
        opened[0].socket.close()
        with page(port, ada) as again:
            again.watch()
            assert again.hear()["type"] == "watching"


def test_messages_come_back_with_time(steady_clock: list[float]) -> None:
    allowance = Allowance()
    assert [allowance.take_message() for _ in range(MAX_MESSAGES + 1)] == [True] * MAX_MESSAGES + [False]
    steady_clock[0] += 2 / MESSAGES_PER_SECOND
    assert [allowance.take_message() for _ in range(3)] == [True, True, False]


def test_unused_allowances_are_forgotten(steady_clock: list[float]) -> None:
    users = Allowances()
    for person in range(1000):
        users.allowance(person).take_message()
        steady_clock[0] += 1.0
    assert len(users) == 1
