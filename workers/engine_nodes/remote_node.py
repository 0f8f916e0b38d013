"""Another node of the job as the training process sees it: it joins, starts engines, is lost, and joins again."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from workers.engine_nodes.links import EngineCommand, Link

START_SECONDS = 60.0
"""The time in which a node connects for an engine and starts its process, which has not loaded anything by then."""
POLL_SECONDS = 0.5


class NodeLost(Exception):
    """The node is lost, or did not start the engine. The message completes `engine 1 …`."""


class RemoteProcess:
    """The process of an engine on another node."""

    def __init__(self, node: RemoteNode, number: int) -> None:
        self.pid = 0
        self._node, self._number = node, number
        self._ended = threading.Event()
        self._code: int | None = None

    def kill(self) -> None:
        """Let the node end the process. Safe to call again, and if the node is lost."""
        if not self._ended.is_set():
            self._node.send("kill", id=self._number)

    def wait(self, timeout: float) -> int:
        """Return the exit code; negative for a signal. Raise TimeoutExpired, also if the node is lost."""
        self._ended.wait(timeout)
        if self._code is None:
            raise subprocess.TimeoutExpired(f"the engine's process on {self._node.name}", timeout)
        return self._code

    def end(self, code: int | None) -> None:
        """Note the exit code; None if the node is lost."""
        self._code = code
        self._ended.set()


class _Start:
    """An engine that is being started: events of the node and of the listener, in any order."""

    def __init__(self, process: RemoteProcess) -> None:
        self.process = process
        self.events = SimpleQueue[tuple[str, Any]]()


class RemoteNode:
    """Node `number` of the job. `alert` gets messages about nodes that join or are lost."""

    def __init__(self, number: int, alert: Callable[[str], None]) -> None:
        self.number, self.name = number, ""
        self._alert = alert
        self._joined = threading.Event()
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._socket: socket.socket | None = None
        self._starts: dict[int, _Start] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._next = 0
        self._is_closed = False

    def wait(self, closed: threading.Event) -> bool:
        """Wait until the node has joined. Return False if the engine is closed before."""
        while not self._joined.wait(POLL_SECONDS):
            if closed.is_set():
                return False
        return True

    def start(self, command: EngineCommand) -> tuple[Connection, RemoteProcess]:
        """Start an engine. Return the connection to it, and its process. Raise NodeLost."""
        with self._lock:
            self._next += 1
            number = self._next
            start = self._starts[number] = _Start(RemoteProcess(self, number))
        if not self.send("start", id=number, command=asdict(command)):
            self._forget(number, None)
            raise NodeLost("could not be started: its node is lost")
        return self._await_start(start), start.process

    def _await_start(self, start: _Start) -> Connection:
        """Return the connection of an engine, once its process runs. Raise NodeLost."""
        connection: Connection | None = None
        until = time.monotonic() + START_SECONDS
        while connection is None or not start.process.pid:
            try:
                kind, value = start.events.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                kind, value = "failed", f"it did not answer for {START_SECONDS:.0f} s"
            if kind == "connection":
                connection = value
            elif kind == "started":
                start.process.pid = value
            else:
                start.process.kill()
                if connection is not None:
                    connection.close()
                raise NodeLost(f"could not be started on node {self.name}: {value}")
        return connection

    def join(self, connection: Connection, connected: socket.socket, name: str) -> None:
        """Take the node's control connection. An older one of the same node is ended."""
        self._lose("it joined again")
        with self._lock:
            is_first = not self.name
            self.name, self._link, self._socket = name, Link(connection), connected
        threading.Thread(target=self._listen, args=(self._link,), daemon=True).start()
        self._joined.set()
        if not is_first:
            self._alert(f"node {name} has joined again; its engines restart and catch up from the replay log")

    def take_engine(self, connection: Connection, connected: socket.socket, number: int) -> None:
        """Take the connection of the engine that is being started under this number. Raise ValueError."""
        with self._lock:
            start = self._starts.get(number)
            if start is None or number in self._sockets:
                raise ValueError(f"no engine {number} is being started")
            self._sockets[number] = connected
        start.events.put(("connection", connection))

    def send(self, kind: str, **values: Any) -> bool:
        """Send the node a message. Return False if the node is lost."""
        with self._lock:
            link = self._link
        with contextlib.suppress(OSError):
            if link is not None:
                link.send(kind, **values)
                return True
        return False

    def close(self) -> None:
        """End the connection, with which the node's program and its engines end."""
        self._is_closed = True
        self._lose("")

    def _listen(self, link: Link) -> None:
        try:
            while True:
                self._handle(link.receive())
        except (EOFError, OSError, ValueError, KeyError, TypeError) as error:
            with self._lock:
                is_present = link is self._link
            if is_present:
                self._lose(f"{error}" if str(error) else "its connection ended")

    def _handle(self, message: dict[str, Any]) -> None:
        kind, number = message["kind"], message["id"]
        start = self._starts.get(number)
        if start is None:
            return
        if kind == "started":
            start.events.put((kind, message["pid"]))
        elif kind == "failed":
            start.events.put((kind, message["reason"]))
            self._forget(number, None)
        else:
            self._forget(number, message["code"])

    def _forget(self, number: int, code: int | None) -> None:
        """Note that an engine's process has ended, and drop its connection."""
        with self._lock:
            start, connected = self._starts.pop(number, None), self._sockets.pop(number, None)
        if start is not None:
            start.process.end(code)
            start.events.put(("failed", "its process ended"))
        if connected is not None:
            # Its last message may still be on the way; the end of the process ends the connection.
            connected.close() if code is not None else _end(connected)

    def _lose(self, reason: str) -> None:
        """End all connections of the node, and let its engines be lost."""
        self._joined.clear()
        with self._lock:
            link, connected, self._link, self._socket = self._link, self._socket, None, None
            engines = list(self._starts)
        if connected is not None:
            _end(connected)
        if link is None:
            return
        if not self._is_closed:
            self._alert(f"node {self.name} is lost ({reason}); other engines answer its members until it joins again")
        for number in engines:
            self._forget(number, None)


def _end(connected: socket.socket) -> None:
    """End a connection from any thread: whoever reads from it notices."""
    with contextlib.suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
    connected.close()
