"""Limit on the concurrent commands on one connection, over all processes: sshd refuses more than ten."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.executors.base import NotBegun

MAX_CONCURRENT_COMMANDS = 8
LOOK_SECONDS = 0.02


@contextmanager
def slot(folder: Path, name: str, timeout_seconds: float, slots: int = MAX_CONCURRENT_COMMANDS) -> Iterator[None]:
    """Hold one slot, which the kernel frees when its holder dies. Raise NotBegun if none becomes free in time."""
    handle = _take(folder, name, time.monotonic() + timeout_seconds, slots)
    if handle is None:
        raise NotBegun(
            f"{slots} commands are already running there, and none of them finished within {timeout_seconds:g} s"
        )
    try:
        yield
    finally:
        os.close(handle)


def _take(folder: Path, name: str, until: float, slots: int) -> int | None:
    while True:
        for n in range(slots):
            handle = os.open(folder / f"{name}.{n}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                os.close(handle)
        if time.monotonic() > until:
            return None
        time.sleep(LOOK_SECONDS)
