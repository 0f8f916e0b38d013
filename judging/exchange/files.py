"""Read files of judgments one row at a time, because a file may be larger than the memory.

A file may be compressed (.gz, .bz2, .xz) and may be UTF-16 with its mark. It is decompressed and recoded into a
temporary file, up to the first error.
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

from judging.stats.votes import Problem, is_one_document, list_rows, parse_json

MB = 1 << 20
MAX_UPLOAD_BYTES = 64 * MB
MAX_FILE_BYTES = 1024 * MB
MAX_LIST_BYTES = 64 * MB
"""Limit of one JSON list, which is read into memory as a whole."""
MAX_LINE_BYTES = 4 * MB
HEAD_BYTES = 1024
PIECE_BYTES = 1 << 16
BOM = b"\xef\xbb\xbf"
DECOMPRESSORS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""First bytes of a compressed file -> the class that reads it."""
SUFFIXES = (".gz", ".bz2", ".xz")
DECOMPRESSION_ERRORS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ZIP, TAR, TAR_OFFSET = b"PK\x03\x04", b"ustar", 257
FORMATS_READ = (
    "Judgments are read as JSON lines or one JSON list, in UTF-8 or UTF-16, plain or compressed (.gz, .bz2, .xz), in "
    "four formats: the published one (model_a, model_b, scores), FastChat's (model_a, model_b, winner), MT-bench's "
    "(model_1, model_2, g1_winner, g2_winner) and AlpacaEval's (generator_1, generator_2, preference)."
)


def read_rows(file: BinaryIO, name: str, max_unpacked_bytes: int = MAX_FILE_BYTES) -> Iterator[tuple[str, Any]]:
    """Yield (location, parsed row or Problem) for each line, or for each entry of one JSON list.

    `file` is at its beginning. At most `max_unpacked_bytes` bytes of a compressed file are read.
    """
    with ExitStack() as stack:
        plain, reason = _decode_file(file, stack, max_unpacked_bytes)
        head = _head(plain).removeprefix(BOM).lstrip()
        yield from _list_entries(plain, name) if is_one_document(head) else _lines(plain, name)
    if reason:
        yield name, Problem(name, reason)


def _decode_file(file: BinaryIO, stack: ExitStack, max_bytes: int) -> tuple[BinaryIO, str]:
    """Return the file decompressed and as UTF-8, and the reason why it is not read to its end, empty if it is."""
    reason = ""
    opener = next((opener for sign, opener in DECOMPRESSORS.items() if _head(file).startswith(sign)), None)
    if opener is not None:
        unpacked = _temporary_file(stack)
        with opener(file) as packed:
            reason = _unpack(packed, unpacked, max_bytes)
        file = unpacked
    head = _head(file)
    if head.startswith(ZIP) or head[TAR_OFFSET:].startswith(TAR):
        return _temporary_file(stack), "is an archive of several files: import its files instead"
    if head.startswith(UTF16_MARKS) and not head.startswith(codecs.BOM_UTF32_LE):
        utf8 = _temporary_file(stack)
        utf8.writelines(codecs.iterencode(codecs.iterdecode(_pieces(file), "utf-16", "replace"), "utf-8", "replace"))
        utf8.seek(0)
        file = utf8
    return file, reason


def _temporary_file(stack: ExitStack) -> BinaryIO:
    return stack.enter_context(TemporaryFile())


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return head


def _unpack(packed: Any, unpacked: IO[bytes], max_bytes: int) -> str:
    """Decompress up to the first error or `max_bytes`. Return why the end was not reached, empty if it was."""
    size = 0
    while True:
        try:
            # Unlike read(), read1() keeps the data before an error.
            piece = packed.read1(PIECE_BYTES)
        except DECOMPRESSION_ERRORS as error:
            return f"cannot be decompressed to its end: {error}"
        unpacked.write(piece[: max_bytes - size])
        size += len(piece)
        if size > max_bytes:
            return f"decompresses to more than {max_bytes // MB} MB: the rest is not read"
        if not piece:
            return ""


def _pieces(file: IO[bytes]) -> Iterable[bytes]:
    return iter(lambda: file.read(PIECE_BYTES), b"")


def _list_entries(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    data = file.read(MAX_LIST_BYTES + 1)
    if len(data) > MAX_LIST_BYTES:
        reason = f"is one JSON list of more than {MAX_LIST_BYTES // MB} MB: write it as JSON lines"
        yield name, Problem(name, reason)
        return
    text = _text(data.removeprefix(BOM), name)
    yield from [(name, text)] if isinstance(text, Problem) else list_rows(text, name)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        location = f"{name}, line {number}"
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            yield location, Problem(location, f"is longer than {MAX_LINE_BYTES // MB} MB")
            _skip_line(file)
        elif line.strip() and line.strip() != BOM:
            text = _text(line.removeprefix(BOM) if number == 1 else line, location)
            yield location, text if isinstance(text, Problem) else parse_json(text, location)


def _skip_line(file: BinaryIO) -> None:
    """Read to the end of the line."""
    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _text(data: bytes, location: str) -> str | Problem:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return Problem(location, f"is not UTF-8 text: {error.reason} at byte {error.start + 1}")
