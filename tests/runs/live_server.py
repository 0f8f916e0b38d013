"""A web server on this machine, and pages that listen to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from django.contrib.auth.models import User
from django.test import Client
from websockets.sync.client import ClientConnection, connect

from esweb.supervisor.web import server_config
from tests.waiting import PATIENCE_SECONDS, wait_until


@contextmanager
def serving(port: int = 0) -> Iterator[int]:
    """Yield the port of a real server that runs in a thread: the given one, else an unused one."""
    with running_server(port) as (used_port, _):
        yield used_port


@contextmanager
def running_server(port: int = 0) -> Iterator[tuple[int, uvicorn.Server]]:
    """Yield the port of a real server that runs in a thread, and the server."""
    listening = socket.create_server(("127.0.0.1", port))
    config = server_config()
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), "the web server to start")
    assert server.started, "the web server ended as it started"
    try:
        yield listening.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Page:
    """An open page of a user: sends the runs that it watches, and receives messages."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.cursors: dict[str, int] = {}
        self.steps: list[int] = []

    def watch(self, **cursors: int) -> None:
        """Request runs from their cursors on."""
        self.cursors = dict(cursors)
        self.socket.send(json.dumps({"watch": cursors}))

    def hear(self, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return the next message of any kind. Raise TimeoutError where none comes."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=seconds))
        return message

    def next(self, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return the next message about a run's points: a hub that has just subscribed reports all changes."""
        message = self.hear(seconds)
        while message["type"] in ("watching", "changed"):
            message = self.hear(seconds)
        if message["type"] == "points":
            assert message["cursor"] > self.cursors[message["run"]]
            self.cursors[message["run"]] = message["cursor"]
            self.steps += message["points"]["reward/mean"]["step"]
        return message

    def take(self, points: int) -> list[int]:
        """Return the steps of the points that came, once there are so many."""
        while len(self.steps) < points:
            self.next()
        return self.steps


PATIENT: dict[str, Any] = {"open_timeout": PATIENCE_SECONDS, "ping_interval": None}
"""Options for connections: the server is a thread of the test, and may be silent for long on a busy machine."""


@contextmanager
def page(port: int, user: User | None) -> Iterator[Page]:
    """Open a page of a signed-in user, or of an anonymous one."""
    headers = {"Origin": f"http://127.0.0.1:{port}"}
    if user is not None:
        client = Client()
        client.force_login(user)
        headers["Cookie"] = f"sessionid={client.cookies['sessionid'].value}"
    with connect(f"ws://127.0.0.1:{port}/ws/live", additional_headers=headers, compression=None, **PATIENT) as opened:
        yield Page(opened)
