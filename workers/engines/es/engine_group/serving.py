"""The frame of every engine's program: it serves a connection until that is closed, whatever signals come."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from workers.config import ConfigError, EsConfig
from workers.engines.es.engine_group.wire import Kind, pack_json, receive, send
from workers.engines.es.lineage import NoiseKind
from workers.engines.es.phases import Phases
from workers.engines.es.replay_history import updates_between

FAILED = 1
OOM_SCORE = b"500"
"""The kernel's score when memory runs out: a lost engine is replaced, and a lost training process is not."""
Message = tuple[Kind, bytes]


class UpdatedWeights(Protocol):
    """The weights of an engine, as far as a replay log changes them."""

    phases: Phases

    def update(self, directions: Mapping[int, float], decay: float) -> Any:
        """Add the step over directions seed -> coefficient, and decay towards θ₀."""


class Inbox:
    """Messages in their order, received by a thread while the engine works."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._messages = connection, deque[Message]()
        self._arrival = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def get(self) -> Message:
        """Wait for the next message, and remove it."""
        with self._arrival:
            self._arrival.wait_for(lambda: self._messages)
            return self._messages.popleft()

    def is_abandoned(self) -> bool:
        """Return whether the next message is ABANDON, which ends the request that is being carried out."""
        with self._arrival:
            return bool(self._messages) and self._messages[0][0] is Kind.ABANDON

    def _listen(self) -> None:
        """Receive messages. Without the training process there is no work: exit immediately."""
        try:
            while True:
                message = receive(self._connection)
                with self._arrival:
                    self._messages.append(message)
                    self._arrival.notify()
        except (EOFError, OSError):
            os._exit(0)


def serve(descriptor: int, carry_out: Callable[[Connection, Inbox], int]) -> int:
    """Carry out the requests of a connection until it is closed. Return the exit code.

    The training process gets the error that ends the engine, and decides whether to start another.
    """
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if (out_of_memory := Path("/proc/self/oom_score_adj")).exists():
        out_of_memory.write_bytes(OOM_SCORE)
    connection = Connection(descriptor)
    try:
        return carry_out(connection, Inbox(connection))
    except Exception as error:
        traceback.print_exc()
        # A restart does not fix a config; it may fix any other error.
        is_final = isinstance(error, ConfigError)
        message = str(error) if is_final else f"failed: {type(error).__name__}: {error}"
        send(connection, Kind.ERROR, pack_json({"message": message, "is_final": is_final}))
        return FAILED


def catch_up(backend: UpdatedWeights, es: EsConfig, log: Path, begin: str, end: str) -> None:
    """Apply the updates of the attempt's replay log from one lineage to another. Raise CannotReplay."""
    for update in updates_between(log, NoiseKind(es.noise, es.rank), begin, end):
        backend.update(update.directions, update.decay)
    # Drops the updates of earlier iterations, which engines that applied them in time have counted.
    backend.phases.take()
