"""The process that answers requests while the web loads."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esweb.embedded import die_with_parent
from esweb.embedded.child_process import stop

PROGRAM = Path(__file__).with_name("starting_page.py")
END_SECONDS = 5.0


class Stopgap:
    """A small process that answers 503 *starting* on the web's listening socket, from `start` until `stop`."""

    def __init__(self, listener: socket.socket) -> None:
        self._fd = listener.fileno()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start to answer, unless it does."""
        if self._process and self._process.poll() is None:
            return
        self._process = subprocess.Popen(
            # Without site packages it starts in a few hundredths of a second.
            [sys.executable, "-I", "-S", str(PROGRAM), str(self._fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._fd,),
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )

    def stop(self) -> None:
        """Accept no more connections. Those that were accepted are still answered."""
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def collect(self) -> None:
        """Take the exit code of the process if it has ended, which would stay a zombie otherwise."""
        if self._process:
            self._process.poll()

    def close(self) -> None:
        """Stop, and wait for the end of the process."""
        if self._process:
            stop(self._process, signal.SIGTERM, END_SECONDS)


@contextmanager
def answering(listener: socket.socket) -> Iterator[Stopgap]:
    """Answer requests from now until the web has begun, or until the block ends."""
    stopgap = Stopgap(listener)
    try:
        stopgap.start()
        yield stopgap
    finally:
        stopgap.close()
