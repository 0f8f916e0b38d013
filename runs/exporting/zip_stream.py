"""A zip archive that is written while it is sent: at most a piece of a file is in memory, and nothing on disk.

Zip and not tar, because a member's size need not be known before it is written. Large files have 64-bit sizes.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, cast

PIECE = 1 << 18
"""Bytes that are collected before they are sent."""
LEVEL = 1
"""Level of deflating: JSON lines become a fifth, and higher levels take several times as long for little."""
FIRST_YEAR = 1980
"""Zip stores no earlier time."""


@dataclass(frozen=True)
class Member:
    """A file of the archive: its name, its content in pieces, and its Unix time. is_packed: deflating it saves nothing,
    as for weights."""

    name: str
    pieces: Iterable[bytes]
    modified_at: float = 0.0
    is_packed: bool = False


def zip_pieces(members: Iterable[Member]) -> Iterator[bytes]:
    """Yield the bytes of the archive."""
    sink = _Sink()
    with zipfile.ZipFile(cast(IO[bytes], sink), "w") as archive:
        for member in members:
            with archive.open(_entry(member), "w", force_zip64=True) as file:
                for piece in member.pieces:
                    file.write(piece)
                    if sink.size >= PIECE:
                        yield sink.take()
    yield sink.take()


def _entry(member: Member) -> zipfile.ZipInfo:
    date = time.gmtime(member.modified_at)[:6]
    entry = zipfile.ZipInfo(member.name, date if date[0] >= FIRST_YEAR else (FIRST_YEAR, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_STORED if member.is_packed else zipfile.ZIP_DEFLATED
    entry._compresslevel = LEVEL  # type: ignore[attr-defined]
    entry.external_attr = 0o100644 << 16
    return entry


class _Sink:
    """A file that can only be written. zipfile notices that it has no position, and needs none."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        """Collect the bytes."""
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: the bytes are collected."""

    def take(self) -> bytes:
        """Return the collected bytes, and forget them."""
        data = b"".join(self._pieces)
        self._pieces, self.size = [], 0
        return data
