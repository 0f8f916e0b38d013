"""One file that was compressed by itself, as logs are when they are rotated: unpacked as far as it goes."""

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

from runs.importing.budget import HEADER_AT_MOST, Inflating, OverBudget
from runs.importing.detect_format import unread_by_head
from runs.importing.files import FILE_AT_MOST, File, Refused
from runs.importing.unpacking import NESTED, Unpacking, is_archive

Stream = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
SIGNS: dict[bytes, Callable[[IO[bytes]], Stream]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
BREAKS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
SUFFIXES = (".gz", ".bz2", ".xz")
BLOCK = 512


def is_one(file: File) -> bool:
    """Return whether it is compressed and no archive of several files. Raise OSError."""
    opener = opener_of(file)
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


def unpacked(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    """Yield the file inside; where it breaks off, what stands before, and why. Raise OverBudget beyond a limit."""
    opener = opener_of(file)
    if opener is None:
        return
    start = unpacking.used
    with file.open() as packed, opener(packed) as stream:
        why, is_damaged = _copied(file, Inflating(stream, unpacking.budget), unpacking)
    name = PurePosixPath(file.name)
    if unpacking.used > start:
        bare = str(name.with_suffix("")) if name.suffix.lower() in SUFFIXES else file.name
        inside = unpacking.file(bare, file.named, start, file.modified_at)
        yield replace(inside, is_cut=bool(why) and not is_damaged, is_damaged=is_damaged)
    if why or unpacking.used == start:
        yield Refused(file.name, why or "is empty")


def opener_of(file: File) -> Callable[[IO[bytes]], Stream] | None:
    """Return what opens the stream inside; None if the file is not compressed. Raise OSError."""
    head = file.head(8)
    return next((opener for sign, opener in SIGNS.items() if head.startswith(sign)), None)


def _copied(file: File, stream: Inflating, unpacking: Unpacking) -> tuple[str, bool]:
    """Return (why no more was copied, whether the stream is damaged). Nothing is copied of what no reader reads."""
    head = bytearray()
    try:
        while len(head) < HEADER_AT_MOST and (piece := stream.piece()):
            head += piece
    except OverBudget:
        raise
    except BREAKS as error:
        return _broken(_written(file, bytes(head), unpacking), error)
    if why := _written(file, bytes(head), unpacking):
        return why, False
    size = len(head)
    try:
        while size <= FILE_AT_MOST and (piece := stream.piece()):
            unpacking.write(piece[: FILE_AT_MOST - size])
            size += len(piece)
    except OverBudget:
        raise
    except BREAKS as error:
        return _broken("", error)
    return f"unpacks to more than {FILE_AT_MOST} bytes: the rest is not read" if size > FILE_AT_MOST else "", False


def _broken(why: str, error: Exception) -> tuple[str, bool]:
    """A stream that ends early is cut; any other error says that its bytes are not those that were compressed."""
    return why or f"cannot be unpacked to its end: {error}", not why and not isinstance(error, EOFError)


def _written(file: File, head: bytes, unpacking: Unpacking) -> str:
    """Write the beginning of a file, or return why no reader reads it."""
    if why := NESTED if is_archive(head) else unread_by_head(file.name, head):
        return why
    unpacking.write(head[:FILE_AT_MOST])
    return ""
