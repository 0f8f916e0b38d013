"""All nodes of the job but the first, as the training process uses them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from workers.engine_nodes.job import OtherNodes
from workers.engine_nodes.launchers import RunningLauncher
from workers.engine_nodes.links import EngineCommand
from workers.engine_nodes.listener import Listener
from workers.engine_nodes.remote_node import RemoteNode, RemoteProcess

NAME_LENGTH = 200
END_SECONDS = 15.0
MAX_REFUSALS = 20
"""Different refusals that are reported."""


class Nodes:
    """Nodes 1 to `count`. They join when their launchers have started them, and join again after they were lost."""

    def __init__(self, job: OtherNodes, directory: Path) -> None:
        """Listen for nodes, and start them. Raise OSError."""
        self.count = job.count
        self._alerts: SimpleQueue[str] = SimpleQueue()
        self._refusals = set[str]()
        self._nodes = {number: RemoteNode(number, self._alerts.put) for number in range(1, job.count + 1)}
        self._listener = Listener(job.hosts, job.peers, self._take, self._warn)
        self._listener.start(directory)
        self._launchers = [RunningLauncher(launcher, self._alerts.put) for launcher in job.launchers]
        for launcher in self._launchers:
            launcher.start()

    @property
    def address(self) -> str:
        """Return an address of this machine in the network of the other nodes."""
        return self._listener.addresses[0]

    def name(self, number: int) -> str:
        """Return the name of a node; empty until it joins."""
        return self._nodes[number].name

    def wait(self, number: int, closed: threading.Event) -> bool:
        """Wait until the node has joined. Return False if `closed` is set before."""
        return self._nodes[number].wait(closed)

    def start(self, number: int, command: EngineCommand) -> tuple[Connection, RemoteProcess]:
        """Start an engine on a node. Return the connection to it, and its process. Raise NodeLost."""
        return self._nodes[number].start(command)

    def alerts(self) -> Iterator[str]:
        """Yield the messages since the last call."""
        while not self._alerts.empty():
            yield self._alerts.get()

    def close(self) -> None:
        """End all engines on other nodes, and the programs that started them. Safe to call again."""
        self._listener.close()
        for launcher in self._launchers:
            launcher.end()
        for node in self._nodes.values():
            node.close()
        until = time.monotonic() + END_SECONDS
        for launcher in self._launchers:
            launcher.wait(until)

    def _take(self, connection: Connection, connected: socket.socket, description: dict[str, Any]) -> None:
        """Hand a connection of a node to it. Raise ValueError or KeyError if there is no such node or engine."""
        node = self._nodes.get(description["node"])
        if node is None:
            raise ValueError(f"this job has no node {description['node']!r}")
        if "engine" in description:
            node.take_engine(connection, connected, int(description["engine"]))
        else:
            node.join(connection, connected, str(description["name"])[:NAME_LENGTH])

    def _warn(self, message: str) -> None:
        """Report a refused connection: once if it is repeated, and not endlessly many."""
        if message not in self._refusals and len(self._refusals) < MAX_REFUSALS:
            self._refusals.add(message)
            self._alerts.put(message)
