"""Limit what one import may cost, over all its files and archives together: bytes inflated, files, seconds.

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
HEADER_AT_MOST = MB
"""No reader asks for more at a time. tarfile reads the headers of long names and attributes whole."""


class OverBudget(OSError):
    """A limit of the import is reached: nothing more is read. `strerror` names the limit and its setting."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EFBIG, message)


class Budget:
    """Counts what an import has cost so far. Each verb raises OverBudget beyond a limit."""

    def __init__(self) -> None:
        self.inflated = self.files = 0
        self.inflated_at_most = int(settings.IMPORT_INFLATED_MB * MB)
        self.files_at_most = settings.IMPORT_FILES
        self._ends_at = time.monotonic() + settings.IMPORT_SECONDS

    def add_file(self) -> None:
        """Count a file or member, whether or not it is read."""
        self.files += 1
        if self.files > self.files_at_most:
            raise OverBudget(f"one import takes at most {self.files_at_most} files and members (ESWEB_IMPORT_FILES)")

    def add_inflated(self, count: int) -> None:
        """Count bytes that came out of a decompressor."""
        self.inflated += count
        if self.inflated > self.inflated_at_most:
            mb = settings.IMPORT_INFLATED_MB
            raise OverBudget(f"one import unpacks at most {mb} MB in all (ESWEB_IMPORT_INFLATED_MB)")

    def check_seconds(self) -> None:
        """Compare the clock with the limit."""
        if time.monotonic() > self._ends_at:
            raise OverBudget(f"one import takes at most {settings.IMPORT_SECONDS} s (ESWEB_IMPORT_SECONDS)")

    def timed(self, opener: Callable[[], BinaryIO]) -> Callable[[], BinaryIO]:
        """Return an opener of the same file whose every read compares the clock with the limit."""
        return lambda: cast(BinaryIO, io.BufferedReader(_Timed(opener(), self), 64 * 1024))


class _Timed(io.RawIOBase):
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
        self._budget.check_seconds()
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


class Inflating:
    """A stream out of a decompressor. It can be read forward only, in pieces, and each is counted."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self._stream, self._budget, self._at = stream, budget, 0

    def read(self, count: int = -1) -> bytes:
        """Return so many bytes, fewer at the end. Raise ValueError if that is more than a header may have."""
        if not 0 <= count <= HEADER_AT_MOST:
            raise ValueError(f"a header has {count} bytes; at most {HEADER_AT_MOST} are read")
        out = b""
        while len(out) < count and (piece := self.piece(count - len(out))):
            out += piece
        return out

    def piece(self, at_most: int = PIECE) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        self._budget.check_seconds()
        read = getattr(self._stream, "read1", self._stream.read)
        # Not read(): where the stream breaks off, that loses what it has unpacked already.
        piece: bytes = read(min(at_most, PIECE))
        self._at += len(piece)
        self._budget.add_inflated(len(piece))
        return piece

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on to a place that lies ahead. Raise ValueError for any other."""
        if whence != io.SEEK_SET or offset < self._at:
            raise ValueError("the stream cannot be read backwards")
        while self._at < offset and self.piece(offset - self._at):
            pass
        return self._at
