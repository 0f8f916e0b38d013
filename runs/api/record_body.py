"""The body of a push: inflated piece by piece, measured before it is parsed, and read until too much of it is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice

from django.http import HttpRequest
from ninja.errors import HttpError

from runs import ingest
from runs.api.problems import Invalid
from runs.ingest import Columns
from workers.config import Problem
from workers.records import BadLine, Line, Metric, Population, Response, unpack

MAX_BYTES = 8 * 1024 * 1024
MAX_RECORDS = 20_000
MAX_VALUES = 200_000
"""Of JSON in a push of lines. A value of a line takes 200 bytes of memory, however few it has in the body."""
MAX_CELLS = 500_000
"""Of JSON in a push of columns."""
MAX_PROBLEMS = 20
MAX_GZIP_MEMBERS = 1000
PIECE_BYTES = 16 * 1024


def read_body(request: HttpRequest) -> bytes:
    """Return the body, inflated if it is gzip. Raise HttpError 400, 413 or 415; never hold more than the limit."""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise HttpError(415, f"Content-Encoding must be gzip or identity, not {encoding[:40]!r}")
    if encoding == "gzip":
        return _inflate(_pieces_of(request))
    data = request.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _too_long()
    return data


def inflate(data: bytes) -> bytes:
    """Return what gzip holds, at most MAX_BYTES. Raise HttpError 400 if it is not gzip, 413 if it holds more."""
    return _inflate(memoryview(data)[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))


def read_lines(data: bytes) -> list[Line]:
    """Return the records of a body.

    Raise Invalid for the first MAX_PROBLEMS lines that are none, and read no further. Raise HttpError 413 if there are
    more than MAX_RECORDS lines or MAX_VALUES values: those take the memory, not the bytes.
    """
    values = _values(data)
    lines: list[Line] = []
    problems: list[Problem] = []
    number = 0
    for number, raw in enumerate(islice(BytesIO(data), MAX_RECORDS), 1):
        try:
            # A line has no more values than all of them: most bodies are counted once, and none of their lines.
            line = unpack(raw) if values <= MAX_VALUES else _unpack_small(raw)
            why = ingest.refusal(line)
        except BadLine as error:
            why = str(error)
        else:
            lines.append(line)
        if why:
            lines.clear()
            problems.append(Problem(f"line {number}", why))
            if len(problems) == MAX_PROBLEMS:
                break
    has_more = number >= MAX_PROBLEMS and data.count(b"\n", 0, -1) >= number
    if problems:
        read = f"the first {len(problems)} problems are listed, and nothing after line {number} was read"
        raise Invalid(*problems, more=read if has_more else "")
    if number == MAX_RECORDS and has_more:
        raise HttpError(413, f"A push holds at most {MAX_RECORDS} lines: send fewer at a time")
    if values > MAX_VALUES and sum(map(_size, lines)) > MAX_VALUES:
        raise HttpError(413, f"A push holds at most {MAX_VALUES} values of records: send fewer records at a time")
    return lines


def read_columns(data: bytes) -> Columns:
    """Return the columns of a body. Raise BadColumns, or HttpError 413 if they have too many values."""
    if _values(data) > MAX_CELLS:
        raise HttpError(413, f"A push of columns holds at most {MAX_CELLS} values: send fewer records at a time")
    return ingest.read_columns(data)


def _inflate(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Inflate gzip, whose members may be many: what follows the end of one is at most a piece."""
    out: list[bytes] = []
    left, members = MAX_BYTES, 1
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            while piece:
                if stream.eof:
                    members += 1
                    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
                out.append(stream.decompress(piece, left + 1))
                left -= len(out[-1])
                if left < 0 or members > MAX_GZIP_MEMBERS:
                    raise _too_long() if left < 0 else HttpError(413, f"gzip has at most {MAX_GZIP_MEMBERS} members")
                piece = stream.unused_data
    except zlib.error as error:
        raise HttpError(400, f"The body says that it is gzip and is not: {error}") from error
    if not stream.eof:
        raise HttpError(400, "The gzip body is cut off")
    return out[0] if len(out) == 1 else b"".join(out)


def _pieces_of(request: HttpRequest) -> Iterator[bytes]:
    read = 0
    while piece := request.read(PIECE_BYTES):
        read += len(piece)
        if read > MAX_BYTES:
            raise _too_long()
        yield piece


def _values(data: bytes) -> int:
    """Count what comes before a value of JSON: at least as many as there are values, as texts hold such marks too."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _unpack_small(raw: bytes) -> Line:
    if _values(raw) > MAX_VALUES:
        raise BadLine(f"a record that is pushed has at most {MAX_VALUES} commas and brackets")
    return unpack(raw)


def _size(line: Line) -> int:
    """Count the values of a record that come in any number."""
    record = line.record
    if isinstance(record, Metric):
        return len(record.values) + len(record.axes)
    if isinstance(record, Population):
        return len(record.members) + sum(len(member.parts) for member in record.members)
    return len(record.parts) if isinstance(record, Response) else 1


def _too_long() -> HttpError:
    return HttpError(413, f"A push holds at most {MAX_BYTES} bytes, inflated: send fewer lines at a time")
