"""A web server on this machine, and pages that listen to it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from django.contrib.auth.models import User
from django.test import Client
from websockets.sync.client import ClientConnection, connect


@contextmanager
def serving() -> Iterator[int]:
    """The port of a real server that runs in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    options = {"ws": "websockets-sansio", "lifespan": "off", "log_config": None, "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config("esweb.asgi:application", **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Page:
    """An open page of a person: sends what it watches, and takes what comes."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.cursors: dict[str, int] = {}
        self.steps: list[int] = []

    def watch(self, **cursors: int) -> None:
        """Asks for runs from their cursors on."""
        self.cursors = dict(cursors)
        self.socket.send(json.dumps({"watch": cursors}))

    def hear(self, seconds: float = 60.0) -> dict[str, Any]:
        """The next message of any kind. Raises TimeoutError where none comes."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=seconds))
        return message

    def next(self, seconds: float = 60.0) -> dict[str, Any]:
        """The next message about a run's points: a hub that has just subscribed tells of all changes."""
        give_up_at = time.monotonic() + seconds
        message = self.hear(seconds)
        while message["type"] in ("watching", "changed"):
            message = self.hear(give_up_at - time.monotonic())
        if message["type"] == "points":
            assert message["cursor"] > self.cursors[message["run"]]
            self.cursors[message["run"]] = message["cursor"]
            self.steps += message["points"]["reward/mean"]["step"]
        return message

    def take(self, points: int, seconds: float = 60.0) -> list[int]:
        """The steps of the points that came, once there are so many."""
        give_up_at = time.monotonic() + seconds
        while len(self.steps) < points:
            self.next(give_up_at - time.monotonic())
        return self.steps


PATIENT: dict[str, Any] = {"open_timeout": 90, "ping_interval": None}
"""The server is a thread beside the test's: on a busy machine it may be long silent."""


@contextmanager
def page(port: int, user: User | None) -> Iterator[Page]:
    """A page of a signed-in person, or of a stranger."""
    headers = {"Origin": f"http://127.0.0.1:{port}"}
    if user is not None:
        client = Client()
        client.force_login(user)
        headers["Cookie"] = f"sessionid={client.cookies['sessionid'].value}"
    with connect(f"ws://127.0.0.1:{port}/ws/live", additional_headers=headers, compression=None, **PATIENT) as opened:
        yield Page(opened)
