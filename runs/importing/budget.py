"""Limit the cost of one import, over all its files and archives together: bytes inflated, lines, files, runs, seconds.

Limits are `ESWEB_IMPORT_INFLATED_MB`, `ESWEB_IMPORT_FILES` and `ESWEB_IMPORT_SECONDS`, and those that grow with what is
imported, so that a few bytes cost little. Every stream that inflates or reads goes through here piece by piece, so that
nothing is inflated beyond a limit.
"""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

from django.conf import settings

from runs.importing.files import MB

PIECE = 256 * 1024
MAX_HEADER_BYTES = MB
"""Maximum bytes of one read. No reader requests more; tarfile reads the headers of long names and attributes whole."""


RATIO = 100
"""Maximum bytes that unpack from a byte. Published logs and evaluations have 4 to 70; the compressors reach 10^5."""
ZERO_RATIO = 1_000
"""The same for zeros alone, which cost little: a log that was rotated while it was written begins with many."""
FREE_INFLATED_BYTES = 256 * 1024
FREE_LINES, LINES_PER_BYTE = 2_000, 3
"""Maximum line ends that unpack, and that unpack from a byte. Printed JSON packs up to 1.3 into a byte."""
FREE_RUNS, BYTES_PER_RUN = 16, 640
"""Maximum runs of any import, or one for so many bytes if that is more. Saving a run takes 20 ms."""
FREE_MEMBERS, BYTES_PER_MEMBER = 200, 50
"""Maximum members of archives, or one for so many bytes if that is more. Headers of tar pack to 60 bytes."""
FREE_VALUES, VALUES_PER_BYTE, FIRST_BYTES = 12_000, 4, 4_000
"""Maximum numbers to save, or so many for each byte beyond the first ones if that is more."""
RESPONSE_VALUES, MEMBER_VALUES = 10, 3
"""Values that cost as much to save as a response."""


class OverBudget(OSError):
    """Error if a limit of the import is reached: nothing more is read. `strerror` names the limit and its setting."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EFBIG, message)


@dataclass(frozen=True)
class Limits:
    """The site's limits of an import."""

    inflated_mb: float
    files: int
    seconds: float


def site_limits() -> Limits:
    """Return the limits in the settings."""
    return Limits(settings.IMPORT_INFLATED_MB, settings.IMPORT_FILES, settings.IMPORT_SECONDS)


class Budget:
    """Count what an import has cost so far. Each method raises OverBudget beyond a limit."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or site_limits()
        self.imported = self.inflated = self.zeros = self.line_ends = 0
        self.files = self.members = self.runs = self.values = 0
        self.max_inflated_bytes = int(self.limits.inflated_mb * MB)
        self.max_files = self.limits.files
        self._deadline = time.monotonic() + self.limits.seconds

    def add_imported(self, size: int) -> None:
        """Count the bytes of a file as it is uploaded or lies on the disk. More of them may cost more."""
        self.imported += size

    def add_file(self) -> None:
        """Count a file or member, whether or not it is read."""
        self.files += 1
        if self.files > self.max_files:
            raise OverBudget(f"an import may have at most {self.max_files} files and members (ESWEB_IMPORT_FILES)")

    def add_member(self) -> None:
        """Count a member of an archive, as a file as well."""
        self.add_file()
        self.members += 1
        self._check_share(self.members, FREE_MEMBERS, BYTES_PER_MEMBER, "members of archives")

    def add_inflated(self, piece: bytes) -> None:
        """Count bytes that came out of a decompressor, and the ends of their lines."""
        self.inflated += len(piece)
        self.line_ends += piece.count(b"\n") + piece.count(b"\r")
        if self.inflated > self.max_inflated_bytes:
            mb = self.limits.inflated_mb
            raise OverBudget(f"an import may unpack at most {mb} MB in total (ESWEB_IMPORT_INFLATED_MB)")
        self.zeros += 0 if piece.strip(b"\x00") else len(piece)
        for count, ratio in ((self.inflated - self.zeros, RATIO), (self.zeros, ZERO_RATIO)):
            self._check_growth(
                count, FREE_INFLATED_BYTES, ratio * self.imported, "unpack to", "bytes", f"{ratio} for each byte"
            )
        grown = LINES_PER_BYTE * self.imported
        self._check_growth(self.line_ends, FREE_LINES, grown, "unpack to", "lines", f"{LINES_PER_BYTE} for each byte")

    def add_run(self) -> None:
        """Count a run."""
        self.runs += 1
        self._check_share(self.runs, FREE_RUNS, BYTES_PER_RUN, "runs")

    def add_values(self, count: int) -> None:
        """Count numbers to save; a response counts as RESPONSE_VALUES of them."""
        self.values += count
        most = max(FREE_VALUES, VALUES_PER_BYTE * (self.imported - FIRST_BYTES))
        if self.values > most:
            more = f"{VALUES_PER_BYTE} for each byte beyond {FIRST_BYTES} if that is more"
            rule = f"{FREE_VALUES}, or {more}; a response counts as {RESPONSE_VALUES}"
            raise OverBudget(f"an import of {self.imported} bytes may contain at most {most} numbers: {rule}")

    def _check_share(self, count: int, free: int, bytes_each: int, noun: str) -> None:
        most = max(free, self.imported // bytes_each)
        if count > most:
            rule = f"{free}, or one for each {bytes_each} bytes if that is more"
            raise OverBudget(f"an import of {self.imported} bytes may contain at most {most} {noun}: {rule}")

    def _check_growth(self, count: int, free: int, grown: int, verb: str, noun: str, rule: str) -> None:
        if count > free + grown:
            limit = f"{verb} at most {free + grown} {noun}: {free}, and {rule}"
            raise OverBudget(f"an import of {self.imported} bytes may {limit}")

    def check_time(self) -> None:
        """Raise OverBudget if the import has taken longer than its limit."""
        if time.monotonic() > self._deadline:
            raise OverBudget(f"an import may take at most {self.limits.seconds} s (ESWEB_IMPORT_SECONDS)")

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
        self._budget.add_inflated(piece)
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
