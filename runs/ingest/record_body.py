"""The body of a push: inflated piece by piece, measured before it is parsed, and read until too much of it is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO

from django.http import HttpRequest
from ninja.errors import HttpError

from runs.http import Invalid
from runs.ingest import columnar
from runs.ingest.columnar import BadColumns, Columns, too_many_keys
from runs.ingest.limits import MAX_KEYS, refusal
from runs.metrics import AXES
from workers.config import Problem
from workers.records import Attack, BadLine, Engines, Line, Metric, Population, Probe, Response, unpack

MAX_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 2 * 1024 * 1024
MAX_WORK = 200_000
"""Maximum work of a push of lines, in values of metrics: to read and store that many takes about half a second."""
MAX_VALUES = 100_000
"""Maximum values of JSON in a line. A value takes 200 bytes of memory, however short it is in the body."""
METRIC_WORK, ANSWER_WORK, MEMBER_WORK, ENGINE_WORK, PROBE_VALUE_WORK, OTHER_WORK = 10, 100, 5, 10, 10, 50
"""Cost of a record in addition to its values, in values of metrics."""
BYTES_PER_VALUE = 100
"""Bytes of text that take as much memory as a value of a metric."""
MAX_CELLS = 500_000
"""Maximum values of JSON in a push of columns."""
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

    Raise Invalid for the first MAX_PROBLEMS invalid lines, and read no further. Raise HttpError 413 if the records
    exceed MAX_WORK, and BadColumns if their metrics have too many keys together.
    """
    # A line has no more values than the body: most bodies are counted once, and their lines are not.
    is_small = _values(data) <= MAX_VALUES
    lines: list[Line] = []
    problems: list[Problem] = []
    keys: set[str] = set()
    work = number = 0
    for number, raw in enumerate(BytesIO(data), 1):
        try:
            line = unpack(raw) if is_small and len(raw) <= MAX_LINE_BYTES else _unpack_small(raw)
            reason = refusal(line)
        except BadLine as error:
            reason = str(error)
        if reason:
            problems.append(Problem(f"line {number}", reason))
        else:
            lines.append(line)
            work += _work(line, raw)
            keys |= _keys(line)
        if len(problems) == MAX_PROBLEMS or work > MAX_WORK or len(keys) > MAX_KEYS:
            break
    if problems:
        has_more = data.count(b"\n", 0, -1) >= number
        note = f"only the first {len(problems)} problems are listed; nothing after line {number} was read"
        raise Invalid(*problems, more=note if has_more else "")
    if len(keys) > MAX_KEYS:
        raise BadColumns(too_many_keys(len(keys)))
    if work > MAX_WORK:
        alone = f"The record of line {number} alone exceeds the limit of a push"
        raise HttpError(
            413, alone if number == 1 else f"A push may contain only the lines before line {number}; send fewer lines"
        )
    return lines


def read_columns(data: bytes) -> Columns:
    """Return the columns of a body. Raise BadColumns, or HttpError 413 if they have too many values."""
    if _values(data) > MAX_CELLS:
        raise HttpError(413, f"A push of columns may contain at most {MAX_CELLS} values; send fewer records at a time")
    return columnar.read_columns(data)


def _inflate(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Inflate gzip with one or more members. At most one piece follows the end of a member."""
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
                    raise (
                        _too_long()
                        if left < 0
                        else HttpError(413, f"The gzip body may have at most {MAX_GZIP_MEMBERS} members")
                    )
                piece = stream.unused_data
    except zlib.error as error:
        raise HttpError(400, f"Content-Encoding is gzip, but the body is not gzip: {error}") from error
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
    """Return an upper bound of the JSON values: the number of commas and opening brackets, also those in texts."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _unpack_small(raw: bytes) -> Line:
    if len(raw) > MAX_LINE_BYTES:
        raise BadLine(f"a pushed record may have at most {MAX_LINE_BYTES} bytes")
    if _values(raw) > MAX_VALUES:
        raise BadLine(f"a pushed record may have at most {MAX_VALUES} commas and brackets")
    return unpack(raw)


def _keys(line: Line) -> set[str]:
    record = line.record
    return {*record.values, *(AXES + axis for axis in record.axes)} if isinstance(record, Metric) else set()


def _work(line: Line, raw: bytes) -> int:
    """Return the cost to read and store a record, in values of metrics."""
    record = line.record
    # One character beyond Latin-1 makes each character of a text take up to four bytes.
    text = len(raw) if raw.isascii() and b"\\u" not in raw else 4 * len(raw)
    if isinstance(record, Metric):
        work = METRIC_WORK + len(record.values) + len(record.axes)
    elif isinstance(record, Population):
        work = METRIC_WORK + sum(MEMBER_WORK + len(member.parts) for member in record.members)
    elif isinstance(record, Engines):
        work = METRIC_WORK + ENGINE_WORK * len(record.engines)
    elif isinstance(record, Response):
        work = ANSWER_WORK + len(record.parts)
    elif isinstance(record, Probe):
        work = OTHER_WORK + PROBE_VALUE_WORK * len(record.values)
    elif isinstance(record, Attack):
        work = ANSWER_WORK + OTHER_WORK * len(record.examples)
    else:
        work = OTHER_WORK
    return work + text // BYTES_PER_VALUE


def _too_long() -> HttpError:
    return HttpError(413, f"A push may have at most {MAX_BYTES} bytes, uncompressed; send fewer lines at a time")
