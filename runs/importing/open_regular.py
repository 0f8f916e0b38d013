"""Open files of this server's disk that others may replace meanwhile, also by links to what only the site may read."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO, cast

from runs.importing.files import Window

FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Beginning(Window):
    """Reader of the first bytes of a file, which may grow meanwhile. Closing it closes the file."""

    def close(self) -> None:
        self._file.close()
        super().close()


def open_regular(path: Path, size: int) -> BinaryIO:
    """Open the first `size` bytes of a regular file. Raise OSError if any part of its absolute path is a link."""
    folder = os.open(path.anchor, FOLDER)
    try:
        for part in path.parts[1:-1]:
            inner = os.open(part, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(path.name, FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file any more")
    return cast(BinaryIO, io.BufferedReader(_Beginning(os.fdopen(descriptor, "rb"), 0, size), 64 * 1024))
