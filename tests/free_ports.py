"""Ports that a server may have later, or again after it was killed.

They lie below those that the kernel hands out, so that no connection and no other server gets one by chance meanwhile.
"""

from __future__ import annotations

import itertools
import os
import socket

FIRST, OF_A_PROCESS, PROCESSES = 10_000, 32, 700
COUNT = OF_A_PROCESS * PROCESSES
_next = itertools.count(os.getpid() % PROCESSES * OF_A_PROCESS)
"""Tests that run side by side have numbers close to each other, and so each their own ports."""


def unused_port() -> int:
    """One at which nobody listens now. It is not told again by this process, as long as there are others."""
    return next(port for n in itertools.islice(_next, COUNT) if _is_unused(port := FIRST + n % COUNT))


def _is_unused(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: what is left of ended connections is in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
