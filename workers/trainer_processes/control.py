"""The connection of a process of the training to the supervisor.

supervisor ──► process      train {argv, folder}, stop, lost {reason}
process ──► supervisor      ended {code, reason}
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from workers.engine_nodes.links import Link

LOST_SECONDS = 10.0
"""The time in which a process notices itself that another is lost: it mostly fails while it waits for it."""


class PeerLost(Exception):
    """Another process of the training failed. The message is the reason."""


class Control:
    """The connection of one process. `number` is its number, 0 for the one that writes the records."""

    def __init__(self, descriptor: int, number: int) -> None:
        self.number = number
        self._link = Link(Connection(descriptor))
        self._lost = threading.Event()
        self._is_ending = threading.Lock()
        self._reason = ""

    def receive_arguments(self) -> tuple[Sequence[str], str]:
        """Wait for the command line of the training, and the folder in which it was given. Raise EOFError if the
        supervisor is gone."""
        message = self._link.receive()
        return message["argv"], message["folder"]

    def listen(self, give_up: Callable[[str], None]) -> None:
        """Start to listen. A request to stop becomes SIGTERM in this process.

        If another process is lost and this one does not end by itself, for example because it waits for the lost one
        in a call of a library, `give_up` gets the reason in another thread, and must end the process.
        """
        threading.Thread(target=self._listen, args=(give_up,), daemon=True).start()

    def lost_reason(self) -> str:
        """Return why another process was lost; empty if the supervisor reports none soon. The first process calls it
        after an error, which may be a consequence."""
        self._lost.wait(LOST_SECONDS / 2)
        return self._reason

    def begin_end(self) -> bool:
        """Return whether the calling thread is the first that ends this process."""
        return self._is_ending.acquire(blocking=False)

    def report(self, code: int, reason: str) -> None:
        """Tell the supervisor how this process ends."""
        with contextlib.suppress(OSError):
            self._link.send("ended", code=code, reason=reason)

    def _listen(self, give_up: Callable[[str], None]) -> None:
        try:
            while True:
                message = self._link.receive()
                if message["kind"] == "stop":
                    os.kill(os.getpid(), signal.SIGTERM)
                    continue
                self._reason = str(message["reason"])
                self._lost.set()
                break
        except (EOFError, OSError):
            self._reason = "the process that started the training is gone"
        threading.Event().wait(LOST_SECONDS)
        give_up(self._reason)
