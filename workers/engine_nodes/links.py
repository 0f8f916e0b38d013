"""The control messages between the training process and a node program: one JSON object each.

training process ──► node      start {id, command}, kill {id}
node ──► training process      started {id, pid}, failed {id, reason}, ended {id, code}

Before it starts the engine `id`, the node connects once more and hands that connection to the engine's process. The
messages on it are between engine and training process alone, as on one machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from workers.attempt import NODE_CONTACT

CONTACT = NODE_CONTACT
MAX_MESSAGE_BYTES = 2**20


@dataclass(frozen=True)
class EngineCommand:
    """The process of an engine: `python -m program FILE_DESCRIPTOR`, with variables added to its environment.

    It sees `gpus`, numbers of GPUs among those that the job has on its node; none on a CPU. `shares_gpus`: by CUDA's
    Multi-Process Service, if the node has it.
    """

    python: str
    program: str
    environment: Mapping[str, str] = field(default_factory=dict)
    gpus: Sequence[int] = ()
    shares_gpus: bool = False


class Link:
    """The control connection of a node. Sending is safe from any thread, receiving from one."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending = connection, threading.Lock()

    def send(self, kind: str, **values: Any) -> None:
        """Send a message. Raise OSError if the other side is gone."""
        with self._sending:
            self._connection.send_bytes(json.dumps({"kind": kind, **values}).encode())

    def receive(self) -> dict[str, Any]:
        """Wait for a message. Raise EOFError or OSError if the other side is gone, ValueError if it sends no JSON."""
        message: dict[str, Any] = json.loads(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        return message

    def close(self) -> None:
        """End the connection. Safe to call again."""
        self._connection.close()
