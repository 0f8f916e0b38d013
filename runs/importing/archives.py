"""Read zip and tar archives without ever writing a member under its own name. Members that no reader reads are skipped,
and only regular files are read: no links, devices, archives inside archives, or names that lead out of the folder."""

from __future__ import annotations

import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from runs.importing.budget import InflatedStream, OverBudget
from runs.importing.compressed_files import find_decompressor
from runs.importing.files import MAX_FILE_BYTES, MAX_NAME_LENGTH, OUTSIDE, File, RefusedFile, clean_name
from runs.importing.spool import Unpacking

BREAKS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    EOFError, OSError, RuntimeError, ValueError, struct.error,
)  # fmt: skip
"""Errors that zipfile, tarfile and their decompressors raise for an archive that they cannot read. zipfile raises
RuntimeError for a member that is encrypted or packed by a compression that it does not know."""
NOT_PLAIN = "is a link or a device: not read; only regular files and folders of an archive are read"
TWICE = "occurs twice in the archive: only the first is read"
COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Accepted compressions. zipfile inflates all others without any limit: 4 KiB may become gigabytes in memory."""
END, END_BYTES, MAX_COMMENT_BYTES = b"PK\x05\x06", 22, 65_535
LOCAL_HEADER = 30
MAX_MEMBER_ENTRY_BYTES = 46 + 1000
"""Bytes of a member in a zip's list of members, with a long name."""


def members(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    """Yield the files and the refused members of an archive. Raise OverBudget beyond a limit of the import."""
    try:
        yield from _read_zip(file, unpacking) if file.head(2) == b"PK" else _read_tar(file, unpacking)
    except OverBudget:
        raise
    except BREAKS as error:
        yield RefusedFile(file.name, f"is an archive that cannot be read further: {error}")


def _read_zip(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    with file.open() as opened:
        _check_list(opened, file.size, unpacking)
        with zipfile.ZipFile(opened) as archive:
            overlapping = _overlapping(archive)
            seen = set[str]()
            for member in archive.infolist():
                unpacking.budget.add_member()
                if member.is_dir():
                    continue
                reason = _refusal_reason(member, overlapping)
                name, reason = _check_member(file, member.filename, member.file_size, reason, seen)
                if reason:
                    yield RefusedFile(name, reason)
                    continue
                with archive.open(member) as stream:
                    yield unpacking.take(name, name, InflatedStream(stream, unpacking.budget), member.file_size)


def _refusal_reason(member: zipfile.ZipInfo, overlapping: set[int]) -> str:
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
    """Raise BadZipFile if the list of members is longer than so many files need: zipfile reads the whole list."""
    opened.seek(max(0, size - END_BYTES - MAX_COMMENT_BYTES))
    tail = opened.read(END_BYTES + MAX_COMMENT_BYTES)
    at = len(tail) - END_BYTES if tail[-END_BYTES:][:4] == END else tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        return
    count, length = struct.unpack_from("<HI", tail, at + 10)
    if length > unpacking.budget.max_files * MAX_MEMBER_ENTRY_BYTES:
        unpacking.budget.files = unpacking.budget.max_files
        unpacking.budget.add_file()
    if count == 0xFFFF or length == 0xFFFFFFFF:
        raise zipfile.BadZipFile("it has 65535 members or more")


def _overlapping(archive: zipfile.ZipFile) -> set[int]:
    """Return the ids of members whose bytes begin before those of the member before them end."""
    ordered = sorted(archive.infolist(), key=lambda member: member.header_offset)
    ends = [member.header_offset for member in ordered[1:]] + [archive.start_dir]
    return {
        id(member_in_pair)
        for member, following, end in zip(ordered, [*ordered[1:], None], ends, strict=True)
        if member.header_offset + LOCAL_HEADER + member.compress_size > end
        for member_in_pair in (member, following)
        if member_in_pair is not None
    }


def _read_tar(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    with file.open() as packed:
        decompress = find_decompressor(file)
        stream = InflatedStream(decompress(packed) if decompress else packed, unpacking.budget)
        seen = set[str]()
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
            for member in archive:
                unpacking.budget.add_member()
                if member.isdir():
                    continue
                reason = "" if member.isreg() and not member.issparse() else NOT_PLAIN
                name, reason = _check_member(file, member.name, member.size, reason, seen)
                if reason:
                    yield RefusedFile(name, reason)
                    continue
                stream.seek(member.offset_data)
                yield unpacking.take(name, name, _Part(stream, member.size), member.size)


class _Part:
    """Stream of the bytes of one member of a tar."""

    def __init__(self, stream: InflatedStream, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, count: int) -> bytes:
        data = self._stream.read(min(count, self._left))
        if len(data) < min(count, self._left):
            raise EOFError("the archive ends within a member")
        self._left -= len(data)
        return data

    def piece(self, max_bytes: int) -> bytes:
        if not self._left:
            return b""
        piece = self._stream.piece(min(max_bytes, self._left))
        if not piece:
            raise EOFError("the archive ends within a member")
        self._left -= len(piece)
        return piece


def _check_member(file: File, raw: str, size: int, reason: str, seen: set[str]) -> tuple[str, str]:
    """Return the visible name of a member, and the reason why it is not read; an empty reason if it is."""
    visible_name = clean_name(raw)
    name = f"{file.name}/{visible_name or raw[:MAX_NAME_LENGTH]}"
    reason = reason or ("" if visible_name else OUTSIDE)
    reason = reason or (f"has {size} bytes; at most {MAX_FILE_BYTES} are read" if size > MAX_FILE_BYTES else "")
    reason = reason or (TWICE if visible_name in seen else "")
    seen.add(visible_name)
    return name, reason
