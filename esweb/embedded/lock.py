"""A lock that allows one esweb per data folder: two would use the same servers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esweb.embedded.child_process import CannotStart, raising_cannot_start


@contextmanager
def hold(data: Path) -> Iterator[None]:
    """Hold data/lock until the block ends or the process dies. Raise CannotStart if another process holds it."""
    with raising_cannot_start(data):
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(descriptor, data)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, data: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
        raise CannotStart(
            f"esweb is already running on {data} (process {holder}). "
            "Stop it first, or choose another folder with --data."
        ) from None
    with raising_cannot_start(data):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
