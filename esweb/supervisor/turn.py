"""The supervisor's side of a process that loads its code and waits for its turn: `runs/management/standby.py`."""

from __future__ import annotations

import socket
from contextlib import suppress

from runs.management.standby import BEGIN, LOADED


class Turn:
    """The turn of one process: `is_loaded` once the process has reported it; with `begin` its turn has come."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._is_loaded = False

    @property
    def theirs(self) -> int:
        """The descriptor of the process's end, which is its standard input."""
        return self._theirs.fileno()

    @property
    def descriptor(self) -> int:
        """The descriptor of our end, which is readable once the process has reported, or has ended."""
        return self._ours.fileno()

    def close_theirs(self) -> None:
        """Close the process's end here, once the process is started."""
        self._theirs.close()

    def is_loaded(self) -> bool:
        """Return whether the process has reported that it is loaded."""
        if not self._is_loaded:
            with suppress(OSError):
                self._is_loaded = self._ours.recv(len(LOADED)) == LOADED
        return self._is_loaded

    def begin(self) -> None:
        """Let the process begin. If it has just died, nothing happens: that is noticed elsewhere."""
        with suppress(OSError):
            self._ours.sendall(BEGIN)
        self._ours.close()

    def close(self) -> None:
        """Give the process up: it exits if it waits for its turn."""
        self._ours.close()
        self._theirs.close()
