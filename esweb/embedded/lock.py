"""A lock that allows one esweb per data folder: two would use the same servers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esweb.embedded.child_process import CannotStart, raising_cannot_start

LOCK = "lock"


@contextmanager
def hold(data: Path) -> Iterator[None]:
    """Hold data/lock until the block ends or the process dies. Raise CannotStart if another process holds it.

    The block may remove the file: who opened it before locks a new one.
    """
    with raising_cannot_start(data):
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = try_lock(data / LOCK)
    if descriptor is None:
        raise CannotStart(
            f"esweb is already running on {data} (process {_holder(data)}). "
            "Stop it first, or choose another folder with --data."
        )
    try:
        with raising_cannot_start(data):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def try_lock(file: Path) -> int | None:
    """Lock a file, created if it is missing, and return its descriptor: the lock lasts until that is closed.

    Return None if another process holds the lock. Raise OSError.
    """
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        is_held = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = _is_at(descriptor, file)
        except BlockingIOError:
            return None
        finally:
            if not is_held:
                os.close(descriptor)
        if is_held:
            return descriptor


def _is_at(descriptor: int, file: Path) -> bool:
    """Return whether the open file still has that name: its holder may have removed it before we locked it."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _holder(data: Path) -> str:
    """Return the id of the process that holds the lock, as it wrote it."""
    try:
        return (data / LOCK).read_text(encoding="ascii", errors="replace")[:20].strip() or "unknown"
    except FileNotFoundError:
        return "unknown"
