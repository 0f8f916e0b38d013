"""One temporary file for all that an import unpacks. A member is inflated there only if a reader reads its kind."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import IO, Protocol

from runs.importing.budget import HEADER_AT_MOST, Budget
from runs.importing.detect_format import unread_by_head
from runs.importing.files import FILE_AT_MOST, File, Refused, window

NESTED = "is an archive inside an archive: not opened; upload it by itself"
SIGNS = ((0, b"PK\x03\x04"), (0, b"PK\x05\x06"), (0, b"\x1f\x8b"), (0, b"BZh"), (0, b"\xfd7zXZ\x00"), (257, b"ustar"))
"""Offsets at which archives have their signatures."""


class Pieces(Protocol):
    """A stream that is read forward, as `Inflating` is."""

    def read(self, count: int) -> bytes:
        """Return so many bytes, fewer at the end."""

    def piece(self, at_most: int) -> bytes:
        """Return the next bytes, at most so many; none at the end."""


class Unpacking:
    """The temporary file, which has no name and ends with `keep`, and the budget that it is filled on."""

    def __init__(self, keep: ExitStack, budget: Budget) -> None:
        self.keep, self.budget = keep, budget
        self._spool: IO[bytes] | None = None
        self._used = 0

    def take(self, name: str, named: str, stream: Pieces, size: int | None = None) -> File | Refused:
        """Inflate a member. `size`: what the archive says that it has; one that has more is refused.

        Raise OverBudget beyond a limit of the import, and what the decompressor raises.
        """
        left = FILE_AT_MOST if size is None else size
        head = stream.read(min(HEADER_AT_MOST, left))
        if why := NESTED if is_archive(head) else unread_by_head(name, head):
            return Refused(name, why)
        start = self._used
        self.write(head)
        left -= len(head)
        while left > 0 and (piece := stream.piece(left)):
            self.write(piece)
            left -= len(piece)
        if left <= 0 and stream.piece(1):
            return Refused(name, f"unpacks to more than {FILE_AT_MOST if size is None else size} bytes: not read")
        return self.file(name, named, start)

    def file(self, name: str, named: str, start: int, modified_at: float | None = None) -> File:
        """Return what was written since `start` as a file."""
        size = self._used - start
        return File(name, named, size, window(self.spool, start, size), modified_at)

    @property
    def spool(self) -> IO[bytes]:
        """The temporary file."""
        if self._spool is None:
            self._spool = self.keep.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        return self._spool

    @property
    def used(self) -> int:
        """Return the number of bytes that it holds."""
        return self._used

    def write(self, piece: bytes) -> None:
        """Append a piece. One of zeros alone becomes a hole, which takes no room on the disk."""
        self.spool.seek(self._used)
        self._used += len(piece)
        if piece.strip(b"\x00"):
            self.spool.write(piece)
        else:
            self.spool.truncate(self._used)


def is_archive(head: bytes) -> bool:
    """Return whether a file that begins so says that it is an archive or compressed."""
    return any(head[at : at + len(sign)] == sign for at, sign in SIGNS)
