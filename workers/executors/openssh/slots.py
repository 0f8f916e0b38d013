"""At most so many commands at once on one connection, whichever process sends them: sshd refuses more than ten."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.executors.base import NotBegun

AT_ONCE = 8
LOOK_SECONDS = 0.02


@contextmanager
def slot(folder: Path, name: str, timeout_seconds: float, places: int = AT_ONCE) -> Iterator[None]:
    """Holds one of the places, which the kernel frees when its holder dies. Raises NotBegun where none becomes free."""
    handle = _taken(folder, name, time.monotonic() + timeout_seconds, places)
    if handle is None:
        raise NotBegun(f"{places} commands run there already, and none of them ended in {timeout_seconds:g} s")
    try:
        yield
    finally:
        os.close(handle)


def _taken(folder: Path, name: str, until: float, places: int) -> int | None:
    while True:
        for n in range(places):
            handle = os.open(folder / f"{name}.{n}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                os.close(handle)
        if time.monotonic() > until:
            return None
        time.sleep(LOOK_SECONDS)
