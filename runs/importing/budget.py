"""Limit the cost of one import, over all its files and archives together: bytes inflated, files, seconds.

Limits are `ESWEB_IMPORT_INFLATED_MB`, `ESWEB_IMPORT_FILES` and `ESWEB_IMPORT_SECONDS`. Every stream that inflates or
reads goes through here piece by piece, so that nothing is inflated beyond a limit.
"""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol, cast

from django.conf import settings

from runs.importing.files import MB

PIECE = 256 * 1024
MAX_HEADER_BYTES = MB
"""Maximum bytes of one read. No reader requests more; tarfile reads the headers of long names and attributes whole."""


class OverBudget(OSError):
    """Error if a limit of the import is reached: nothing more is read. `strerror` names the limit and its setting."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EFBIG, message)


class Budget:
    """Count what an import has cost so far. Each method raises OverBudget beyond a limit."""

    def __init__(self) -> None:
        self.inflated = self.files = 0
        self.max_inflated_bytes = int(settings.IMPORT_INFLATED_MB * MB)
        self.max_files = settings.IMPORT_FILES
        self._deadline = time.monotonic() + settings.IMPORT_SECONDS

    def add_file(self) -> None:
        """Count a file or member, whether or not it is read."""
        self.files += 1
        if self.files > self.max_files:
            raise OverBudget(f"an import may have at most {self.max_files} files and members (ESWEB_IMPORT_FILES)")

    def add_inflated(self, count: int) -> None:
        """Count bytes that came out of a decompressor."""
        self.inflated += count
        if self.inflated > self.max_inflated_bytes:
            mb = settings.IMPORT_INFLATED_MB
            raise OverBudget(f"an import may unpack at most {mb} MB in total (ESWEB_IMPORT_INFLATED_MB)")

    def check_time(self) -> None:
        """Raise OverBudget if the import has taken longer than its limit."""
        if time.monotonic() > self._deadline:
            raise OverBudget(f"an import may take at most {settings.IMPORT_SECONDS} s (ESWEB_IMPORT_SECONDS)")

    def timed_opener(self, opener: Callable[[], BinaryIO]) -> Callable[[], BinaryIO]:
        """Return an opener of the same file that checks the time limit at every read."""
        return lambda: cast(BinaryIO, io.BufferedReader(_TimedFile(opener(), self), 64 * 1024))


class _TimedFile(io.RawIOBase):
    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self._file, self._budget = file, budget

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        self._budget.check_time()
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class Readable(Protocol):
    """A stream that can be read: decompressors and files both are."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes."""


class InflatedStream:
    """A stream out of a decompressor. It can be read forward only, in pieces, and each is counted."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self._stream, self._budget, self._at = stream, budget, 0

    def read(self, count: int = -1) -> bytes:
        """Return so many bytes, fewer at the end. Raise ValueError if that is more than a header may have."""
        if not 0 <= count <= MAX_HEADER_BYTES:
            raise ValueError(f"a header has {count} bytes; at most {MAX_HEADER_BYTES} are read")
        out = b""
        while len(out) < count and (piece := self.piece(count - len(out))):
            out += piece
        return out

    def piece(self, max_bytes: int = PIECE) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        self._budget.check_time()
        read = getattr(self._stream, "read1", self._stream.read)
        # Not read(): where the stream breaks off, that loses what it has unpacked already.
        piece: bytes = read(min(max_bytes, PIECE))
        self._at += len(piece)
        self._budget.add_inflated(len(piece))
        return piece

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read forward to an offset from the start. Raise ValueError for an earlier offset or another `whence`."""
        if whence != io.SEEK_SET or offset < self._at:
            raise ValueError("the stream cannot be read backwards")
        while self._at < offset and self.piece(offset - self._at):
            pass
        return self._at
