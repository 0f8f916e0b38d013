"""One file that was compressed by itself, as logs are when they are rotated: unpacked as far as it goes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import IO

from runs.importing.files import FILE_AT_MOST, MB, File, Refused, window

Stream = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
SIGNS: dict[bytes, Callable[[IO[bytes]], Stream]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
BREAKS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
SUFFIXES = (".gz", ".bz2", ".xz")
IN_MEMORY = 8 * MB
PIECE = 256 * 1024
BLOCK = 512


def is_one(file: File) -> bool:
    """True where it is compressed and no archive of several files. Raises OSError."""
    opener = _opener(file)
    if opener is None:
        return False
    with file.open() as packed, opener(packed) as stream:
        try:
            tarfile.TarInfo.frombuf(stream.read(BLOCK), "utf-8", "surrogateescape")
        except (tarfile.TarError, *BREAKS):
            return True
    return False


def unpacked(file: File, keep: ExitStack) -> Iterator[File | Refused]:
    """The file inside, which can be read until `keep` is closed; where it breaks off, what stands before."""
    opener = _opener(file)
    if opener is None:
        return
    kept = keep.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115
    with file.open() as packed, opener(packed) as stream:
        size, why = _copied(stream, kept)
    name = PurePosixPath(file.name)
    if size:
        bare = str(name.with_suffix("")) if name.suffix.lower() in SUFFIXES else file.name
        yield File(bare, file.named, size, window(kept, 0, size), file.modified_at)
    if why or not size:
        yield Refused(file.name, why or "is empty")


def _opener(file: File) -> Callable[[IO[bytes]], Stream] | None:
    head = file.head(8)
    return next((opener for sign, opener in SIGNS.items() if head.startswith(sign)), None)


def _copied(stream: Stream, kept: IO[bytes]) -> tuple[int, str]:
    """(bytes that were copied, why no more were)."""
    size = 0
    try:
        # Not read(): where the stream breaks off, that loses what it has unpacked already.
        while piece := stream.read1(PIECE):
            if size + len(piece) > FILE_AT_MOST:
                return size, f"unpacks to more than {FILE_AT_MOST} bytes: the rest is not read"
            size += kept.write(piece)
    except BREAKS as error:
        return size, f"cannot be unpacked to its end: {error}"
    return size, ""
