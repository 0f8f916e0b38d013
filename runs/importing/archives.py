"""Zip and tar, read without ever writing a member under a name of its own. A member that no reader reads is passed
over, and only regular files are read: no links, devices, archives inside archives, or names that lead elsewhere."""

from __future__ import annotations

import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from runs.importing.budget import Inflating, OverBudget
from runs.importing.compressed import opener_of
from runs.importing.files import FILE_AT_MOST, NAME_AT_MOST, OUTSIDE, File, Refused, clean
from runs.importing.unpacking import Unpacking

BREAKS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    EOFError, OSError, RuntimeError, ValueError, struct.error,
)  # fmt: skip
"""zipfile, tarfile and their decompressors raise these for an archive that they cannot read: zipfile a RuntimeError for
a member that is encrypted or packed by a compression that it does not know."""
NOT_PLAIN = "is a link or a device: not read; an archive may hold regular files and folders"
TWICE = "comes twice in the archive: only the first is read"
COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""The others are inflated by zipfile without any limit: 4 KiB may become gigabytes in memory."""
END, END_BYTES, COMMENT_AT_MOST = b"PK\x05\x06", 22, 65_535
LOCAL_HEADER = 30
BYTES_A_MEMBER = 46 + 1000
"""Of a zip's list of members, with a long name."""


def members(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    """Yield the files of an archive, and what of it is refused. Raise OverBudget beyond a limit of the import."""
    try:
        yield from _of_zip(file, unpacking) if file.head(2) == b"PK" else _of_tar(file, unpacking)
    except OverBudget:
        raise
    except BREAKS as error:
        yield Refused(file.name, f"is an archive that cannot be read on: {error}")


def _of_zip(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    with file.open() as opened:
        _check_list(opened, file.size, unpacking)
        with zipfile.ZipFile(opened) as archive:
            overlapping = _overlapping(archive)
            seen = set[str]()
            for member in archive.infolist():
                unpacking.budget.add_file()
                if member.is_dir():
                    continue
                why = _why_not(member, overlapping)
                name, why = _checked(file, member.filename, member.file_size, why, seen)
                if why:
                    yield Refused(name, why)
                    continue
                with archive.open(member) as stream:
                    yield unpacking.take(name, name, Inflating(stream, unpacking.budget), member.file_size)


def _why_not(member: zipfile.ZipInfo, overlapping: set[int]) -> str:
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        return NOT_PLAIN
    if member.flag_bits & 1:
        return "is encrypted: not read"
    if id(member) in overlapping:
        return "overlaps another member of the archive: not read"
    if member.compress_type in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        return "is compressed by bzip2 or LZMA: not read; members of a zip may be stored or deflated"
    return ""


def _check_list(opened: IO[bytes], size: int, unpacking: Unpacking) -> None:
    """Raise BadZipFile if the list of members is longer than so many files need: zipfile reads all of it at once."""
    opened.seek(max(0, size - END_BYTES - COMMENT_AT_MOST))
    tail = opened.read(END_BYTES + COMMENT_AT_MOST)
    at = len(tail) - END_BYTES if tail[-END_BYTES:][:4] == END else tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        return
    count, length = struct.unpack_from("<HI", tail, at + 10)
    if length > unpacking.budget.files_at_most * BYTES_A_MEMBER:
        unpacking.budget.files = unpacking.budget.files_at_most
        unpacking.budget.add_file()
    if count == 0xFFFF or length == 0xFFFFFFFF:
        raise zipfile.BadZipFile("it holds 65535 members or more")


def _overlapping(archive: zipfile.ZipFile) -> set[int]:
    """Return the ids of members whose bytes begin before those of the member before them end."""
    ordered = sorted(archive.infolist(), key=lambda member: member.header_offset)
    ends = [member.header_offset for member in ordered[1:]] + [archive.start_dir]
    return {
        id(one)
        for member, following, end in zip(ordered, [*ordered[1:], None], ends, strict=True)
        if member.header_offset + LOCAL_HEADER + member.compress_size > end
        for one in (member, following)
        if one is not None
    }


def _of_tar(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    with file.open() as packed:
        opener = opener_of(file)
        stream = Inflating(opener(packed) if opener else packed, unpacking.budget)
        seen = set[str]()
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
            for member in archive:
                unpacking.budget.add_file()
                if member.isdir():
                    continue
                why = "" if member.isreg() and not member.issparse() else NOT_PLAIN
                name, why = _checked(file, member.name, member.size, why, seen)
                if why:
                    yield Refused(name, why)
                    continue
                stream.seek(member.offset_data)
                yield unpacking.take(name, name, _Part(stream, member.size), member.size)


class _Part:
    """The bytes of one member of a tar."""

    def __init__(self, stream: Inflating, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, count: int) -> bytes:
        data = self._stream.read(min(count, self._left))
        if len(data) < min(count, self._left):
            raise EOFError("the archive ends within a member")
        self._left -= len(data)
        return data

    def piece(self, at_most: int) -> bytes:
        if not self._left:
            return b""
        piece = self._stream.piece(min(at_most, self._left))
        if not piece:
            raise EOFError("the archive ends within a member")
        self._left -= len(piece)
        return piece


def _checked(file: File, raw: str, size: int, why: str, seen: set[str]) -> tuple[str, str]:
    """Return a member's name to show, and why it is not read."""
    shown = clean(raw)
    name = f"{file.name}/{shown or raw[:NAME_AT_MOST]}"
    why = why or ("" if shown else OUTSIDE)
    why = why or (f"has {size} bytes; at most {FILE_AT_MOST} are read" if size > FILE_AT_MOST else "")
    why = why or (TWICE if shown in seen else "")
    seen.add(shown)
    return name, why
