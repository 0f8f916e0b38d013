"""Where the engines of a run are: on which node and which GPUs, and what starts each."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.engine_nodes.handshake import set_timeouts
from workers.engine_nodes.links import EngineCommand
from workers.engine_nodes.nodes import Nodes
from workers.engine_nodes.program import node_name
from workers.engine_nodes.remote_node import NodeLost
from workers.engines.es.engine_group import process
from workers.engines.es.engine_group.process import EngineLost, EngineProcess


@dataclass(frozen=True)
class EnginePlace:
    """Node of the job, 0 for this one, and the numbers of GPUs among those that the job has there; none on a CPU."""

    node: int = 0
    gpus: tuple[int, ...] = ()

    @property
    def device(self) -> str:
        """Return the device as torch names it on the node."""
        return f"cuda:{','.join(map(str, self.gpus))}" if self.gpus else "cpu"


def places_of(groups: Sequence[tuple[int, ...]], nodes: int) -> list[EnginePlace]:
    """Return the places of so many equal nodes, each with these groups of GPUs: the first of every node come first, so
    that few engines use all nodes."""
    return [EnginePlace(node, group) for group in groups for node in range(nodes)]


class EngineStarter:
    """Starts engines, each at its place: engine k at place k, from the start again if there are more engines.

    `command` returns the command of an engine at a place. `nodes` are the other nodes of the job, if it has any.
    `service` is the environment of the service by which engines share the GPUs of this node, if they do.
    """

    def __init__(
        self,
        places: Sequence[EnginePlace],
        command: Callable[[EnginePlace], EngineCommand],
        nodes: Nodes | None = None,
        service: Mapping[str, str] | None = None,
    ) -> None:
        self.places = list(places)
        self._command, self._nodes, self._service = command, nodes, service

    @classmethod
    def native(cls, gpus: int, nodes: Nodes | None = None) -> EngineStarter:
        """Return what starts engines with this project's decoder, each on one of so many GPUs a node, or on a CPU."""
        groups: list[tuple[int, ...]] = [(number,) for number in range(gpus)] or [()]
        return cls(
            places_of(groups, 1 + (nodes.count if nodes else 0)),
            lambda place: EngineCommand(sys.executable, process.PROGRAM, gpus=place.gpus),
            nodes,
        )

    def place(self, number: int) -> EnginePlace:
        """Return the place of an engine."""
        return self.places[number % len(self.places)]

    def node_name(self, number: int) -> str:
        """Return the name of the engine's node; empty if it has not joined."""
        node = self.place(number).node
        return self._nodes.name(node) if node and self._nodes else node_name()

    def wait(self, number: int, closed: threading.Event) -> None:
        """Wait until the engine's node has joined, or `closed` is set."""
        if (node := self.place(number).node) and self._nodes:
            self._nodes.wait(node, closed)

    def start(self, number: int) -> EngineProcess:
        """Start the process of an engine. Raise OSError, GpuMissing or EngineLost."""
        place = self.place(number)
        command = self._command(place)
        if not place.node or not self._nodes:
            return EngineProcess.here(command, self._service)
        try:
            connection, remote = self._nodes.start(place.node, command)
        except NodeLost as error:
            raise EngineLost(str(error)) from error
        with socket.socket(fileno=os.dup(connection.fileno())) as connected:
            set_timeouts(connected, process.STUCK_SECONDS)
        return EngineProcess(connection, remote)

    def alerts(self) -> Iterator[str]:
        """Yield the messages about nodes since the last call."""
        if self._nodes is not None:
            yield from self._nodes.alerts()

    def close(self) -> None:
        """End the programs on other nodes."""
        if self._nodes is not None:
            self._nodes.close()
