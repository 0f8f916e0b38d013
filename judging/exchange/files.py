"""Files of judgments, a row at a time: what they hold may be more than memory does.

A file may be packed by itself (.gz, .bz2, .xz) and be UTF-16 with its mark: it is unpacked and recoded into a temporary
file, as far as it goes.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from judging.stats.votes import Problem, is_one_document, listed, parsed

MB = 1 << 20
UPLOAD_AT_MOST = 64 * MB
FILE_AT_MOST = 1024 * MB
LIST_AT_MOST = 64 * MB
"""One JSON list is held as a whole."""
LINE_AT_MOST = 4 * MB
HEAD = 1024
PIECE = 1 << 16
BOM = b"\xef\xbb\xbf"
PACKED: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""How a packed file begins -> what reads it."""
SUFFIXES = (".gz", ".bz2", ".xz")
BREAKS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZIP, TAR, TAR_AT = b"PK\x03\x04", b"ustar", 257
FORMATS_READ = (
    "Judgments are read as JSON lines or one JSON list, in UTF-8 or UTF-16, plain or packed as .gz, .bz2 or .xz, in "
    "three formats: the published one (model_a, model_b, scores), FastChat's (model_a, model_b, winner) and MT-bench's "
    "(model_1, model_2, g1_winner, g2_winner)."
)


def rows(file: BinaryIO, name: str, unpacked_at_most: int = FILE_AT_MOST) -> Iterator[tuple[str, Any]]:
    """(place, parsed row or Problem) of each line, or of each entry of one JSON list. `file` is at its beginning.

    Of a packed file no more bytes than `unpacked_at_most` are read.
    """
    with ExitStack() as keep:
        plain, why = _plain(file, keep, unpacked_at_most)
        head = _head(plain).removeprefix(BOM).lstrip()
        yield from _listed(plain, name) if is_one_document(head) else _lines(plain, name)
    if why:
        yield name, Problem(name, why)


def _plain(file: BinaryIO, keep: ExitStack, at_most: int) -> tuple[BinaryIO, str]:
    """Return the file unpacked and as UTF-8, and why it is not read to its end; empty if it is."""
    why = ""
    opener = next((opener for sign, opener in PACKED.items() if _head(file).startswith(sign)), None)
    if opener is not None:
        unpacked = _scratch(keep)
        with opener(file) as packed:
            why = _unpack(packed, unpacked, at_most)
        file = unpacked
    head = _head(file)
    if head.startswith(ZIP) or head[TAR_AT:].startswith(TAR):
        return _scratch(keep), "is an archive of several files: import those"
    if head.startswith(WIDE) and not head.startswith(codecs.BOM_UTF32_LE):
        narrow = _scratch(keep)
        narrow.writelines(codecs.iterencode(codecs.iterdecode(_pieces(file), "utf-16", "replace"), "utf-8", "replace"))
        narrow.seek(0)
        file = narrow
    return file, why


def _scratch(keep: ExitStack) -> BinaryIO:
    return keep.enter_context(TemporaryFile())


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    head = file.read(HEAD)
    file.seek(0)
    return head


def _unpack(packed: Any, unpacked: IO[bytes], at_most: int) -> str:
    """Copy as far as it goes. Return why not to the end; empty if it was."""
    size = 0
    while True:
        try:
            # What stands before a break is not lost with it, as it would be by read().
            piece = packed.read1(PIECE)
        except BREAKS as error:
            return f"cannot be unpacked to its end: {error}"
        unpacked.write(piece[: at_most - size])
        size += len(piece)
        if size > at_most:
            return f"unpacks to more than {at_most // MB} MB: the rest is not read"
        if not piece:
            return ""


def _pieces(file: IO[bytes]) -> Iterable[bytes]:
    return iter(lambda: file.read(PIECE), b"")


def _listed(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    data = file.read(LIST_AT_MOST + 1)
    if len(data) > LIST_AT_MOST:
        why = f"is one JSON list of more than {LIST_AT_MOST // MB} MB: write it as JSON lines"
        yield name, Problem(name, why)
        return
    text = _text(data.removeprefix(BOM), name)
    yield from [(name, text)] if isinstance(text, Problem) else listed(text, name)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(LINE_AT_MOST):
        number += 1
        place = f"{name}, line {number}"
        if len(line) == LINE_AT_MOST and not line.endswith(b"\n"):
            yield place, Problem(place, f"is longer than {LINE_AT_MOST // MB} MB")
            _pass_by(file)
        elif line.strip() and line.strip() != BOM:
            text = _text(line.removeprefix(BOM) if number == 1 else line, place)
            yield place, text if isinstance(text, Problem) else parsed(text, place)


def _pass_by(file: BinaryIO) -> None:
    """Reads to the end of the line."""
    while (rest := file.readline(LINE_AT_MOST)) and not rest.endswith(b"\n"):
        pass


def _text(data: bytes, place: str) -> str | Problem:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return Problem(place, f"is not UTF-8 text: {error.reason} at byte {error.start + 1}")
