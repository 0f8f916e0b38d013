"""WebSockets: strangers and other sites' pages get nothing from any address, known or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from runs import access
from runs.models import Experiment
from runs.routing import websocket_urlpatterns
from tests.runs.listening import PATIENT, serving
from tests.runs.pages import make_run
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESSES = [str(pattern.pattern) for pattern in websocket_urlpatterns]


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[int]:
    """A real server's."""
    with django_db_blocker.unblock(), serving() as found:  # type: ignore[attr-defined]
        yield found


def opened(port: int, address: str, origin: str | None = None, **headers: str) -> ClientConnection:
    """A socket from a page of this site, or of `origin`."""
    headers["Origin"] = origin or f"http://127.0.0.1:{port}"
    return connect(f"ws://127.0.0.1:{port}/{address}", additional_headers=headers, compression=None, **PATIENT)


def cookie(person: User) -> str:
    """What their signed-in browser sends."""
    browser = Client()
    browser.force_login(person)
    return f"sessionid={browser.cookies['sessionid'].value}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_stranger_is_told_to_sign_in_and_nothing_else(port: int, address: str, experiment: Experiment) -> None:
    run = make_run(experiment)
    with opened(port, address) as socket, pytest.raises(ConnectionClosed):
        assert "Sign in" in socket.recv(timeout=PATIENCE_SECONDS)
        socket.send(f'{{"watch": {{"{run.uid}": 0}}}}')
        socket.recv(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_script_with_a_token_is_a_stranger_there(port: int, address: str, ada: User) -> None:
    _, text = access.issue(ada, "admin")
    with opened(port, address, Authorization=f"Bearer {text}") as socket, pytest.raises(ConnectionClosed):
        assert "Sign in" in socket.recv(timeout=PATIENCE_SECONDS)
        socket.recv(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null"])
def test_another_sites_page_cannot_use_the_session(port: int, address: str, origin: str, ada: User) -> None:
    """Browsers send cookies along with a socket to anywhere, and ask nobody: only the server can refuse."""
    with pytest.raises(InvalidStatus) as refused, opened(port, address, origin, Cookie=cookie(ada)):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("address", ["", "ws", "ws/live/", "ws/other", "runs/", "api/v1/runs"])
def test_there_is_no_other_address(port: int, address: str, ada: User) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), opened(port, address, Cookie=cookie(ada)) as socket:
        socket.recv(timeout=PATIENCE_SECONDS)
