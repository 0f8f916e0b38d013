"""Zip and tar, read without ever writing a member under a name of its own: all are copied one behind the other into one
nameless file, and neither a member nor the whole may unpack to more than is told here."""

from __future__ import annotations

import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import IO

from runs.importing.files import FILE_AT_MOST, MB, NAME_AT_MOST, OUTSIDE, File, Refused, clean, window

ARCHIVE_AT_MOST = 1024 * MB
MEMBERS_AT_MOST = 10_000
IN_MEMORY = 8 * MB
PIECE = 256 * 1024
SIGNS = ((0, b"PK\x03\x04"), (0, b"PK\x05\x06"), (0, b"\x1f\x8b"), (0, b"BZh"), (0, b"\xfd7zXZ\x00"), (257, b"ustar"))
"""Where archives say what they are."""
BREAKS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    EOFError, OSError, RuntimeError, ValueError,
)  # fmt: skip
"""zipfile, tarfile and their decompressors raise these for an archive that they cannot read: zipfile a RuntimeError for
a member that is encrypted or packed by a compression that it does not know."""


@dataclass
class _Unpacking:
    """The members of an archive are copied into `kept`, which holds `used` bytes so far; `found` lists them."""

    archive: File
    kept: IO[bytes]
    used: int = 0
    members: int = 0
    found: list[File] = field(default_factory=list)

    def complaint(self, name: str, size: int) -> str:
        """Why nothing more of the archive is read; empty where it may go on."""
        self.members += 1
        if self.members > MEMBERS_AT_MOST:
            return f"holds more than {MEMBERS_AT_MOST} members: the others were not looked at"
        if self.used + min(size, FILE_AT_MOST) > ARCHIVE_AT_MOST:
            return (
                f"unpacks to more than {ARCHIVE_AT_MOST} bytes: what stands from {name[:NAME_AT_MOST]} on was not read"
            )
        return ""

    def take(self, raw: str, size: int, why: str, opener: Callable[[], IO[bytes] | None]) -> File | Refused:
        """Copies a member, where it may be read."""
        shown = clean(raw)
        name = f"{self.archive.name}/{shown or raw[:NAME_AT_MOST]}"
        why = why or ("" if shown else OUTSIDE)
        why = why or (f"has {size} bytes; at most {FILE_AT_MOST} are read" if size > FILE_AT_MOST else "")
        stream = None if why else opener()
        if stream is None:
            return Refused(name, why or "cannot be read")
        with stream:
            copied = self._copied(stream, size)
        if copied > size:
            return Refused(name, "unpacks to more than the archive says: not read")
        file = File(name, name, copied, window(self.kept, self.used, copied))
        self.used += copied
        return Refused(name, "is an archive inside an archive: not opened") if is_archive(file) else file

    def _copied(self, stream: IO[bytes], size: int) -> int:
        """Copies up to one byte more than was told, so that a lie is seen and never followed."""
        self.kept.seek(self.used)
        copied = 0
        while copied <= size and (piece := stream.read(min(PIECE, size + 1 - copied))):
            copied += self.kept.write(piece)
        return copied


def is_archive(file: File) -> bool:
    """True where it says that it is one. Raises OSError."""
    head = file.head(512)
    return any(head[at : at + len(sign)] == sign for at, sign in SIGNS)


def members(file: File, keep: ExitStack) -> Iterator[File | Refused]:
    """The files of an archive; they can be read until `keep` is closed."""
    kept = keep.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115
    unpacking = _Unpacking(file, kept)
    try:
        yield from _of_zip(unpacking) if file.head(2) == b"PK" else _of_tar(unpacking)
    except BREAKS as error:
        yield Refused(file.name, f"is an archive that cannot be read on: {error}")


def _of_zip(unpacking: _Unpacking) -> Iterator[File | Refused]:
    with unpacking.archive.open() as opened, zipfile.ZipFile(opened) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            if why := unpacking.complaint(member.filename, member.file_size):
                yield Refused(unpacking.archive.name, why)
                return
            is_plain = stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG)
            why = "" if is_plain else "is a link or a device: not read"
            why = why or ("is encrypted: not read" if member.flag_bits & 1 else "")
            yield unpacking.take(member.filename, member.file_size, why, partial(archive.open, member))


def _of_tar(unpacking: _Unpacking) -> Iterator[File | Refused]:
    with unpacking.archive.open() as opened, tarfile.open(fileobj=opened, mode="r|*") as archive:
        for member in archive:
            if member.isdir():
                continue
            if why := unpacking.complaint(member.name, member.size):
                yield Refused(unpacking.archive.name, why)
                return
            why = "" if member.isreg() else "is a link or a device: not read"
            yield unpacking.take(member.name, member.size, why, partial(archive.extractfile, member))
            if member.size > FILE_AT_MOST:
                # To pass it over would be to unpack it.
                yield Refused(unpacking.archive.name, f"is not read on behind {member.name[:NAME_AT_MOST]}")
                return
