"""Unpack a single compressed file, such as a rotated log, as far as it can be read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import IO

from runs.importing.budget import MAX_HEADER_BYTES, InflatedStream, OverBudget
from runs.importing.detect_format import refusal_by_head
from runs.importing.files import MAX_FILE_BYTES, File, RefusedFile
from runs.importing.spool import NESTED, Unpacking, is_archive

Stream = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
SIGNS: dict[bytes, Callable[[IO[bytes]], Stream]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
BREAKS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
SUFFIXES = (".gz", ".bz2", ".xz")
BLOCK = 512


def is_single_file(file: File) -> bool:
    """Return whether the file is compressed and not an archive of several files. Raise OSError."""
    opener = find_decompressor(file)
    if opener is None:
        return False
    with file.open() as packed, opener(packed) as stream:
        try:
            tarfile.TarInfo.frombuf(stream.read(BLOCK), "utf-8", "surrogateescape")
        except OverBudget:
            raise
        except (tarfile.TarError, *BREAKS):
            return True
    return False


def unpack(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    """Yield the file inside. If it breaks off, yield the part before and the reason. Raise OverBudget."""
    opener = find_decompressor(file)
    if opener is None:
        return
    start = unpacking.used
    with file.open() as packed, opener(packed) as stream:
        reason, is_damaged = _copy(file, InflatedStream(stream, unpacking.budget), unpacking)
    name = PurePosixPath(file.name)
    if unpacking.used > start:
        bare = str(name.with_suffix("")) if name.suffix.lower() in SUFFIXES else file.name
        inside = unpacking.file(bare, file.path, start, file.modified_at)
        yield replace(inside, is_cut=bool(reason) and not is_damaged, is_damaged=is_damaged)
    if reason or unpacking.used == start:
        yield RefusedFile(file.name, reason or "is empty")


def find_decompressor(file: File) -> Callable[[IO[bytes]], Stream] | None:
    """Return the function that opens the stream inside, or None if the file is not compressed. Raise OSError."""
    head = file.head(8)
    return next((opener for sign, opener in SIGNS.items() if head.startswith(sign)), None)


def _copy(file: File, stream: InflatedStream, unpacking: Unpacking) -> tuple[str, bool]:
    """Return (reason why no more was copied, whether the stream is damaged). Copy no file that no reader reads."""
    head = bytearray()
    try:
        while len(head) < MAX_HEADER_BYTES and (piece := stream.piece()):
            head += piece
    except OverBudget:
        raise
    except BREAKS as error:
        return _describe_break(_write_head(file, bytes(head), unpacking), error)
    if reason := _write_head(file, bytes(head), unpacking):
        return reason, False
    size = len(head)
    try:
        while size <= MAX_FILE_BYTES and (piece := stream.piece()):
            unpacking.write(piece[: MAX_FILE_BYTES - size])
            size += len(piece)
    except OverBudget:
        raise
    except BREAKS as error:
        return _describe_break("", error)
    return f"unpacks to more than {MAX_FILE_BYTES} bytes: the rest is not read" if size > MAX_FILE_BYTES else "", False


def _describe_break(reason: str, error: Exception) -> tuple[str, bool]:
    """Return (reason, whether the stream is damaged). A stream that ends early is cut; any other error means that its
    bytes are not those that were compressed, unless `reason` is given."""
    return reason or f"cannot be unpacked completely: {error}", not reason and not isinstance(error, EOFError)


def _write_head(file: File, head: bytes, unpacking: Unpacking) -> str:
    """Write the beginning of a file and return an empty text, or return why no reader reads it."""
    if reason := NESTED if is_archive(head) else refusal_by_head(file.name, head):
        return reason
    unpacking.write(head[:MAX_FILE_BYTES])
    return ""
