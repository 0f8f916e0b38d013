"""WebSockets: strangers and other sites' pages get nothing from any address, known or not."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from runs import access
from runs.models import Experiment
from runs.routing import websocket_urlpatterns
from tests.runs.full_runs import make_run
from tests.runs.live_server import PATIENT, serving
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}  # fmt: skip
ADDRESSES = [str(pattern.pattern) for pattern in websocket_urlpatterns]


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the port of a real server."""
    with django_db_blocker.unblock(), serving() as server_port:  # type: ignore[attr-defined]
        yield server_port


def open_socket(port: int, address: str, origin: str | None = None, **headers: str) -> ClientConnection:
    """Open a socket as from a page of this site, or of `origin`."""
    headers["Origin"] = origin or f"http://127.0.0.1:{port}"
    return connect(f"ws://127.0.0.1:{port}/{address}", additional_headers=headers, compression=None, **PATIENT)


def session_cookie(person: User) -> str:
    """Return the Cookie header of the user's signed-in browser."""
    browser = Client()
    browser.force_login(person)
    return f"sessionid={browser.cookies['sessionid'].value}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_stranger_gets_only_sign_in_message(port: int, address: str, experiment: Experiment) -> None:
    run = make_run(experiment)
    with open_socket(port, address) as socket, pytest.raises(ConnectionClosed):
        assert "Sign in" in socket.recv(timeout=PATIENCE_SECONDS)
        socket.send(f'{{"watch": {{"{run.uid}": 0}}}}')
        socket.recv(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("address", ADDRESSES)
def test_token_does_not_open_socket(port: int, address: str, ada: User) -> None:
    _, text = access.issue(ada, "admin")
    with open_socket(port, address, Authorization=f"Bearer {text}") as socket, pytest.raises(ConnectionClosed):
        assert "Sign in" in socket.recv(timeout=PATIENCE_SECONDS)
        socket.recv(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null"])
def test_foreign_origin_cannot_use_session(port: int, address: str, origin: str, ada: User) -> None:
    """Browsers send cookies with every socket without a check: only the server can refuse."""
    with pytest.raises(InvalidStatus) as refused, open_socket(port, address, origin, Cookie=session_cookie(ada)):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "origin",
    ["http://127.0.0.1:{other}", "http://127.0.0.1", "https://127.0.0.1:{port}", "http://localhost:{port}",
     "http://127.0.0.1:{port}/", "http://127.0.0.1:{port}@evil.example", "http://[", ""],
)  # fmt: skip
def test_socket_is_refused_when_scheme_host_or_port_differ(port: int, address: str, origin: str, ada: User) -> None:
    """Another program on this host, on another port, has pages of its own, and cookies know no ports."""
    origin = origin.format(port=port, other=port + 1 if port < 65535 else port - 1)
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://127.0.0.1:{port}/{address}",
            additional_headers={"Origin": origin, "Cookie": session_cookie(ada)},
            compression=None,
            **PATIENT,
        )
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("address", ADDRESSES)
def test_socket_is_refused_without_an_origin(port: int, address: str, ada: User) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{port}/{address}", additional_headers={"Cookie": session_cookie(ada)}, **PATIENT)
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", ""])
def test_socket_is_refused_when_the_host_is_not_allowed(port: int, host: str, ada: User) -> None:
    """Page and request agree if a foreign name resolves to this address: ALLOWED_HOSTS decides."""
    response = httpx.get(
        f"http://127.0.0.1:{port}/ws/live",
        headers={**UPGRADE, "Host": host, "Origin": f"http://{host}", "Cookie": session_cookie(ada)},
        timeout=PATIENCE_SECONDS,
    )
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("trusted", "origin"),
    [
        ("https://esweb.example.org", "https://esweb.example.org"),
        ("https://esweb.example.org:8443", "https://esweb.example.org:8443"),
        ("https://*.example.org", "https://lab.example.org"),
    ],
)
def test_socket_opens_for_a_trusted_origin(port: int, trusted: str, origin: str, ada: User, settings: Settings) -> None:
    settings.CSRF_TRUSTED_ORIGINS = [trusted]
    with open_socket(port, "ws/live", origin, Cookie=session_cookie(ada)) as socket:
        socket.send('{"watch": {}}')
        assert "watching" in socket.recv(timeout=PATIENCE_SECONDS)
    with pytest.raises(InvalidStatus), open_socket(port, "ws/live", f"{origin}1", Cookie=session_cookie(ada)):
        pass


def test_socket_opens_behind_https_proxy(port: int, ada: User, settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    secure = {"Cookie": session_cookie(ada), "X-Forwarded-Proto": "https"}
    with open_socket(port, "ws/live", f"https://127.0.0.1:{port}", **secure) as socket:
        socket.send('{"watch": {}}')
        assert "watching" in socket.recv(timeout=PATIENCE_SECONDS)
    with pytest.raises(InvalidStatus), open_socket(port, "ws/live", f"http://127.0.0.1:{port}", **secure):
        pass


@pytest.mark.parametrize("address", ["", "ws", "ws/live/", "ws/other", "runs/", "api/v1/runs"])
def test_other_socket_addresses_are_refused(port: int, address: str, ada: User) -> None:
    with (
        pytest.raises((InvalidStatus, ConnectionClosed)),
        open_socket(port, address, Cookie=session_cookie(ada)) as socket,
    ):
        socket.recv(timeout=PATIENCE_SECONDS)
