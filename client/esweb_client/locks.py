"""Locks on files, which the system releases when the process ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCKED = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def lock_file(path: Path) -> int:
    """Create the file, lock it and return its descriptor. A file system without locks is no error."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    with contextlib.suppress(OSError):
        _lock(descriptor)
    return descriptor


def try_lock(path: Path) -> int | None:
    """Return the descriptor of the locked file; None if another process holds its lock. Raise OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in LOCKED:
            os.close(descriptor)
            return None
    return descriptor


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
