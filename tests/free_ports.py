"""Ports that a server may use later, or again after it was killed.

They are below those that the kernel assigns, so that no connection and no other server gets one by chance meanwhile.
"""

from __future__ import annotations

import itertools
import os
import socket

FIRST, PORTS_PER_PROCESS, PROCESSES = 10_000, 32, 700
COUNT = PORTS_PER_PROCESS * PROCESSES
_next = itertools.count(os.getpid() % PROCESSES * PORTS_PER_PROCESS)
"""The next port's index. Processes of parallel tests have close pids, and so separate ports."""


def unused_port() -> int:
    """Return a port at which nobody listens now. This process returns it again only after all others."""
    return next(port for n in itertools.islice(_next, COUNT) if _is_unused(port := FIRST + n % COUNT))


def _is_unused(port: int) -> bool:
    with socket.socket() as probe:
        # Servers set this option too: closed connections do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
