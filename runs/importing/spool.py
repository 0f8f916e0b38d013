"""Temporary file for everything that an import unpacks. A member is inflated there only if a reader reads its kind."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import IO, Protocol

from runs.importing.budget import MAX_HEADER_BYTES, Budget
from runs.importing.detect_format import refusal_by_head
from runs.importing.files import MAX_FILE_BYTES, File, RefusedFile, window
from runs.importing.run_folders.assemble import is_attempt_file

NESTED = "is an archive inside an archive: not opened; upload it separately"
SIGNS = ((0, b"PK\x03\x04"), (0, b"PK\x05\x06"), (0, b"\x1f\x8b"), (0, b"BZh"), (0, b"\xfd7zXZ\x00"), (257, b"ustar"))
"""Offsets at which archives have their signatures."""


class PieceReader(Protocol):
    """A stream that is read forward, such as `InflatedStream`."""

    def read(self, count: int) -> bytes:
        """Return so many bytes, fewer at the end."""

    def piece(self, max_bytes: int) -> bytes:
        """Return the next bytes, at most so many; none at the end."""


class Unpacking:
    """The temporary file, which has no name and is deleted with `stack`, and the budget that counts its bytes."""

    def __init__(self, stack: ExitStack, budget: Budget, spool: IO[bytes] | None = None) -> None:
        self.stack, self.budget = stack, budget
        self._spool = spool
        self._used = 0

    def take(self, name: str, path: str, stream: PieceReader, size: int | None = None) -> File | RefusedFile:
        """Inflate a member. `size`: its size in the archive's list; a member that has more is refused.

        Raise OverBudget beyond a limit of the import, and the errors of the decompressor.
        """
        left = MAX_FILE_BYTES if size is None else size
        head = stream.read(min(MAX_HEADER_BYTES, left))
        reason = "" if is_attempt_file(name) else NESTED if is_archive(head) else refusal_by_head(name, head)
        if reason:
            return RefusedFile(name, reason)
        start = self._used
        self.write(head)
        left -= len(head)
        while left > 0 and (piece := stream.piece(left)):
            self.write(piece)
            left -= len(piece)
        if left <= 0 and stream.piece(1):
            return RefusedFile(name, f"unpacks to more than {MAX_FILE_BYTES if size is None else size} bytes: not read")
        return self.file(name, path, start)

    def file(self, name: str, path: str, start: int, modified_at: float | None = None) -> File:
        """Return the bytes that were written since `start` as a file."""
        size = self._used - start
        return File(name, path, size, window(self.spool, start, size), modified_at, origin=(self.spool, start))

    @property
    def spool(self) -> IO[bytes]:
        """Return the temporary file, created at the first use."""
        if self._spool is None:
            self._spool = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        return self._spool

    @property
    def used(self) -> int:
        """Return the size of the temporary file in bytes."""
        return self._used

    def write(self, piece: bytes) -> None:
        """Append a piece. A piece that holds only zeros becomes a hole, which takes no space on the disk."""
        self.spool.seek(self._used)
        self._used += len(piece)
        if piece.strip(b"\x00"):
            self.spool.write(piece)
        else:
            self.spool.truncate(self._used)


def is_archive(head: bytes) -> bool:
    """Return whether a file with this beginning is an archive or compressed, by its signature."""
    return any(head[at : at + len(sign)] == sign for at, sign in SIGNS)
