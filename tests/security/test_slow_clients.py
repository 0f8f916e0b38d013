"""Clients who are slow, endless or many: they are disconnected, and hold neither threads nor the connections of others.

A steady upload or download may take as long as it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
import uvicorn
from pytest_django.fixtures import Settings
from uvicorn.server import ServerState

from esweb.supervisor import http_protocol
from esweb.supervisor.http_protocol import MIN_BYTES_PER_SECOND, PATIENCE_SECONDS, LimitedHttpProtocol, max_connections
from tests.cases import each_case
from tests.runs.live_server import running_server
from tests.waiting import PATIENCE_SECONDS as TEST_SECONDS
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 400
HEADERS = b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
HALF_BODY = HEADERS + b"Content-Length: 1000\r\n\r\nusername="
SILENT = {
    "no byte": b"",
    "empty lines": b"\r\n\r\n",
    "half a line": b"GET /heal",
    "half of the headers": HEADERS,
    "half a body": HALF_BODY,
    "half a chunk": HEADERS + b"Transfer-Encoding: chunked\r\n\r\n400\r\nusername=",
    "no last chunk": HEADERS + b"Transfer-Encoding: chunked\r\n\r\n9\r\nusername=\r\n",
}
Running = tuple[int, uvicorn.Server]


@pytest.fixture(scope="module")
def running(django_db_setup: None, django_db_blocker: Any) -> Iterator[Running]:
    """Yield the port of a real server, and the server."""
    with django_db_blocker.unblock(), running_server() as started:
        yield started


@contextlib.contextmanager
def clients(port: int, count: int, sent: bytes, address: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Open so many connections from an address, send the same bytes over each, and keep them open."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), TEST_SECONDS, source_address=(address, 0))
            connection.sendall(sent)
            opened.append(stack.enter_context(connection))
        yield opened


def read_all(connection: socket.socket) -> bytes:
    """Return what the server sends until it closes the connection."""
    content = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            content += part
    return content


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has sent nothing and not closed the connection."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    return False


def health_status(port: int) -> int:
    return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=TEST_SECONDS).status_code


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server lose its patience after a few checks, which follow each other quickly."""
    monkeypatch.setattr(http_protocol, "PATIENCE_SECONDS", 0.06)
    monkeypatch.setattr(http_protocol, "CHECK_SECONDS", 0.02)


@each_case("sent", list(SILENT.values()), ids=list(SILENT))
def test_silent_client_is_disconnected(running: Running, impatient: None, sent: bytes) -> None:
    port, _ = running
    with clients(port, 1, sent) as (connection,):
        assert b"HTTP/1.1 408 Request Timeout" in read_all(connection)


def test_trickled_headers_earn_no_time(running: Running, impatient: None) -> None:
    port, server = running
    with clients(port, 1, HEADERS) as (connection,):

        def trickle() -> bool:
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"X-More: " + b"x" * 20 + b"\r\n")
            return not server.server_state.connections

        wait_until(trickle, "the server to disconnect the client")


def test_client_that_reads_no_response_is_disconnected(running: Running, impatient: None) -> None:
    port, server = running
    request = b"GET /static/vendor/plotly-basic-4.1.1.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(TEST_SECONDS)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request * 8)
        wait_until(lambda: server.server_state.connections, "the connection to be accepted")
        wait_until(lambda: not server.server_state.connections, "the server to disconnect the client")


@pytest.mark.parametrize(
    "sent", [HEADERS + b"X-More: 1\r\n" * 100_000, HEADERS + b"x" * 2**20, b"GET /" + b"a" * 2**20]
)
def test_endless_headers_are_refused(running: Running, sent: bytes) -> None:
    port, _ = running
    with socket.create_connection(("127.0.0.1", port), TEST_SECONDS) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        assert b" 408 " not in read_all(connection)


def test_half_sent_bodies_hold_no_thread(running: Running) -> None:
    port, server = running
    before = threading.active_count()
    with clients(port, MANY, HALF_BODY) as connections:
        wait_until(lambda: len(server.server_state.tasks) == MANY, "all requests to have begun")
        wait_until(lambda: threading.active_count() <= before + 20, "threads to end", details=threading.enumerate)
        assert health_status(port) == 200
        assert all(map(is_open, connections))
    wait_until(lambda: not server.server_state.tasks, "the requests to end with their connections")


def test_connections_of_one_address_are_limited(running: Running, settings: Settings) -> None:
    port, server = running
    settings.CONNECTIONS_PER_ADDRESS = 20
    with clients(port, 1, HALF_BODY, "127.0.0.9") as (other,), clients(port, 60, HALF_BODY) as crowd:
        assert health_status(port) == 200
        assert len(server.server_state.connections) <= 22
        assert is_open(other)
        assert sum(map(is_open, crowd)) <= 20


def test_connections_of_a_proxy_count_only_as_all(running: Running, settings: Settings) -> None:
    port, _ = running
    settings.CONNECTIONS_PER_ADDRESS = 20
    settings.PROXIES = [ip_network("127.0.0.8/31")]
    with clients(port, 40, HALF_BODY, "127.0.0.9") as connections:
        assert health_status(port) == 200
        assert all(map(is_open, connections))


def test_full_server_closes_the_slowest_for_a_new_client(running: Running, settings: Settings) -> None:
    port, server = running
    settings.MAX_CONNECTIONS = 30
    upload = HEADERS + b"Content-Length: 60000\r\n\r\n" + b"a" * 50_000
    with clients(port, 1, upload, "127.0.0.2") as (busy,), clients(port, 50, HALF_BODY, "127.0.0.3"):
        assert health_status(port) == 200
        assert len(server.server_state.connections) <= 30
        assert is_open(busy)


def test_connections_stay_below_the_limit_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, expected in ((1024, 384), (20_000, 1000), (resource.RLIM_INFINITY, 1000), (100, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert max_connections() == expected


class Transport(asyncio.Transport):
    """A transport of which the client reads nothing until `unread` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.unread, self.is_closed = 0, False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, data: Any) -> None:
        self.unread += len(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def reading_application(scope: Any, receive: Any, send: Any) -> None:
    """Read the body to its end, and answer."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100000")]})
    await send({"type": "http.response.body", "body": b"a" * 100_000})


async def checks_until_closed(moved: Sequence[int], *, downloads: bool = False, apart_seconds: float = 1.0) -> int:
    """Return how many checks, a second apart, a connection outlasts that moves so many bytes before each of them."""
    transport = Transport()
    state = ServerState()
    config = uvicorn.Config(reading_application, log_config=None, proxy_headers=False)
    connection = LimitedHttpProtocol(config, state, {})
    connection.connection_made(transport)
    length = 5 if downloads else 10**9
    connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % length)
    connection.data_received(b"a" * 5)
    checks = 0
    for checks, count in enumerate(moved, 1):  # noqa: B007  (returned)
        await asyncio.sleep(0)  # noqa: TID251  (lets the application read)
        if downloads:
            transport.unread -= min(count, transport.unread)
        elif count:
            connection.data_received(b"a" * count)
        connection.use_patience(apart_seconds)
        if transport.is_closed:
            break
    connection.connection_lost(None)
    await asyncio.gather(*state.tasks)
    return checks


SECONDS = int(PATIENCE_SECONDS)


@each_case(
    ("moved", "downloads", "checks"),
    [
        ([0] * 100, False, SECONDS + 1),
        ([100] * 100, False, SECONDS * 10 // 9 + 1),
        ([MIN_BYTES_PER_SECOND] * 100, False, 100),
        ([10**6] + [0] * 100, False, SECONDS + 2),
        (([30_000] + [0] * (SECONDS - 1)) * 5, False, 5 * SECONDS),
        ([0] * 100, True, SECONDS + 1),
        ([MIN_BYTES_PER_SECOND] * 80, True, 80),
    ],
    ids=["silent", "a tenth of the speed", "slow but steady", "silent after much", "bursts", "unread", "slowly read"],
)
def test_patience_follows_progress(moved: list[int], downloads: bool, checks: int) -> None:
    assert asyncio.run(checks_until_closed(moved, downloads=downloads)) == checks


@each_case(("late_seconds", "counted_seconds"), [(1.5, 1.5), (60.0, http_protocol.MAX_CHECKED_SECONDS)])
def test_busy_server_closes_silent_clients_after_the_same_time(late_seconds: float, counted_seconds: float) -> None:
    """After a stop of a minute it reads what has arrived before it closes anything."""
    checks = asyncio.run(checks_until_closed([0] * 100, apart_seconds=late_seconds))
    assert checks == SECONDS / counted_seconds + 1


# The bytes that a slow sender begins with, and those that it adds now and then.
SLOW = [
    (b"", b""), (HEADERS, b""), (HEADERS + b"X-More: ", b"a"), (HALF_BODY, b""), (HALF_BODY, b"a"),
    (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /", b"a"),
]  # fmt: skip


def test_three_hundred_slow_senders_are_disconnected(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    port, server = running
    with contextlib.ExitStack() as stack:
        senders = [(one, more) for first, more in SLOW for one in stack.enter_context(clients(port, 50, first))]
        wait_until(lambda: len(server.server_state.connections) == 300, "all connections to be accepted")
        monkeypatch.setattr(http_protocol, "PATIENCE_SECONDS", 0.5)
        monkeypatch.setattr(http_protocol, "CHECK_SECONDS", 0.05)

        def trickle() -> bool:
            for connection, more in senders:
                with contextlib.suppress(ConnectionError):
                    connection.send(more)
            return not server.server_state.connections

        wait_until(trickle, "the server to disconnect all of them")
        assert health_status(port) == 200
