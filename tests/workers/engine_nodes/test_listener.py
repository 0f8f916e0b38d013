"""Only nodes of the job are admitted, and only with its token: real connections on loopback."""

from __future__ import annotations

import json
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.engine_nodes.job_here import LOOPBACK
from workers.engine_nodes import handshake, listener
from workers.engine_nodes.handshake import MAX_DESCRIPTION_BYTES, NONCE_BYTES, PROOF_BYTES, Refused, introduce
from workers.engine_nodes.links import CONTACT
from workers.engine_nodes.listener import NETWORKS, Listener

OTHER_TOKEN = b"o" * 32


class Site:
    """A listener, and what it has admitted and refused."""

    def __init__(self, directory: Path, peers: frozenset[str] | None = None) -> None:
        self.admitted, self.warnings = SimpleQueue[dict[str, Any]](), SimpleQueue[str]()
        self._open: list[Connection | socket.socket] = []
        self.listener = Listener([LOOPBACK], peers, self._take, self.warnings.put)
        self.listener.start(directory)
        self.contact = json.loads((directory / CONTACT).read_text())

    @property
    def endpoint(self) -> tuple[str, int]:
        ((address, port),) = self.contact["endpoints"]
        return address, port

    @property
    def token(self) -> bytes:
        return bytes.fromhex(self.contact["token"])

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection to the listener that has proved nothing yet."""
        connected = socket.create_connection(self.endpoint, timeout=PATIENCE_SECONDS)
        connected.setblocking(True)
        with Connection(connected.detach()) as connection:
            yield connection

    def warning(self) -> str:
        return self.warnings.get(timeout=PATIENCE_SECONDS)

    def close(self) -> None:
        self.listener.close()
        for connection in self._open:
            connection.close()

    def _take(self, connection: Connection, connected: socket.socket, node: dict[str, Any]) -> None:
        self._open += [connection, connected]
        self.admitted.put(node)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Site(tmp_path)) as site:
        yield site


def test_node_with_the_token_is_admitted(site: Site, tmp_path: Path) -> None:
    mode = (tmp_path / CONTACT).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600, "only the account of the job may read the token"
    with site.connect() as connection:
        introduce(connection, site.token, {"node": 1, "name": "n2"})
        assert site.admitted.get(timeout=PATIENCE_SECONDS) == {"node": 1, "name": "n2"}
    site.close()
    assert not (tmp_path / CONTACT).exists()


def test_listener_is_on_the_address_towards_the_other_nodes_alone(site: Site) -> None:
    address, port = site.endpoint
    assert address == LOOPBACK
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=PATIENCE_SECONDS)


def test_other_token_is_refused(site: Site) -> None:
    with site.connect() as connection, pytest.raises(Refused, match="it closed the connection"):
        introduce(connection, OTHER_TOKEN, {"node": 1, "name": "n2"})
    assert site.warning() == f"a connection from {LOOPBACK} was refused: it has another token"
    assert site.admitted.empty()


def test_node_refuses_a_listener_with_another_token() -> None:
    ours, theirs = socket.socketpair()
    with Connection(ours.detach()) as connection, Connection(theirs.detach()) as pretender:
        pretender.send_bytes(bytes(NONCE_BYTES))
        pretender.send_bytes(bytes(PROOF_BYTES))
        with pytest.raises(Refused, match="it has another token"):
            introduce(connection, OTHER_TOKEN, {"node": 1})


def test_proof_cannot_be_used_again(site: Site) -> None:
    with site.connect() as connection:
        connection.recv_bytes()
        connection.send_bytes(b"")
    site.warning()
    heard = _message_of_an_admitted_node(site)
    with site.connect() as connection:
        connection.recv_bytes()
        connection.send_bytes(heard)
        with pytest.raises(EOFError):
            connection.recv_bytes()
    assert "another token" in site.warning()


def _message_of_an_admitted_node(site: Site) -> bytes:
    """Return the message with which a node was admitted, as whoever hears the network has it."""
    ours, theirs = socket.socketpair()
    with site.connect() as connection, Connection(ours.detach()) as near, Connection(theirs.detach()) as far:
        near.send_bytes(connection.recv_bytes())

        node = threading.Thread(target=introduce, args=(far, site.token, {"node": 1, "name": "n2"}))
        node.start()
        message = near.recv_bytes()
        connection.send_bytes(message)
        near.send_bytes(connection.recv_bytes())
        node.join(PATIENCE_SECONDS)
    assert site.admitted.get(timeout=PATIENCE_SECONDS)["node"] == 1
    return message


@pytest.mark.parametrize(
    "message",
    [b"", b"x" * 64, b"x" * (NONCE_BYTES + PROOF_BYTES + MAX_DESCRIPTION_BYTES + 1)],
    ids=["none", "wrong", "long"],
)
def test_message_that_is_no_introduction_is_refused(site: Site, message: bytes) -> None:
    with site.connect() as connection:
        connection.recv_bytes()
        connection.send_bytes(message)
        with pytest.raises((EOFError, ConnectionResetError)):
            connection.recv_bytes()
    assert site.warning().startswith(f"a connection from {LOOPBACK} was refused: ")
    assert site.admitted.empty()


def test_silent_stranger_is_turned_away_and_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SECONDS", 1.0)
    monkeypatch.setattr(handshake, "SECONDS", 1.0)
    with closing(Site(tmp_path)) as site, site.connect() as stranger:
        with site.connect() as connection:
            introduce(connection, site.token, {"node": 2, "name": "n3"})
        assert site.admitted.get(timeout=PATIENCE_SECONDS)["node"] == 2
        assert site.warning() == f"a connection from {LOOPBACK} was refused: it sent nothing for 1 s"
        stranger.recv_bytes()
        with pytest.raises((EOFError, ConnectionResetError)):
            stranger.recv_bytes()


def test_machine_outside_the_job_is_refused_even_with_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Site(tmp_path, frozenset({"10.0.0.7"}))) as site:
        with site.connect() as connection, pytest.raises((Refused, ConnectionResetError)):
            introduce(connection, site.token, {"node": 1, "name": "n2"})
        assert site.warning() == (
            f"a connection from {LOOPBACK} was refused: it is no node of this job (see ESWEB_NODE_NETWORKS)"
        )
    monkeypatch.setenv(NETWORKS, "127.0.0.0/8")
    with closing(Site(tmp_path, frozenset({"10.0.0.7"}))) as site, site.connect() as connection:
        introduce(connection, site.token, {"node": 1, "name": "n2"})
        assert site.admitted.get(timeout=PATIENCE_SECONDS)["node"] == 1
