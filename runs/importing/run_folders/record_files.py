"""Read the records of an attempt, line by line, each with the number of its line: what cannot be read is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from runs.importing.files import File
from runs.importing.records import ImportReport
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.ingest import refusal
from workers.config.shallow_json import loads
from workers.records import BadLine, BrokenLine, Line, unpack
from workers.records.lines import MAX_LINE_BYTES
from workers.records.times import describe_bad_time, is_time

READ_BYTES = 1024 * 1024
PIECE_LINES, PIECE_BYTES = 2_000, 2 * 1024 * 1024
"""Records and bytes of a piece at most, unless one line is longer."""
MAX_BROKEN = 100_000
"""Broken lines of a piece at most: each piece stores one warning about its own."""


@dataclass(frozen=True)
class RecordPiece:
    """Lines of one records file, of attempt `n` in its `epoch`, from byte `start` to byte `end`.

    bodies: the lines as parsed JSON. `is_last`: no other piece of the file follows. `cut_bytes`: bytes after the last
    line end.
    """

    n: int
    epoch: int
    start: int
    end: int
    lines: list[Line] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    broken: list[BrokenLine] = field(default_factory=list)
    is_last: bool = False
    cut_bytes: int = 0


@dataclass(frozen=True)
class _Read:
    """A line as it was read: its number, its bytes in the file, and its record or what is wrong with it."""

    number: int
    start: int
    end: int
    line: Line | None = None
    body: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""


def read_pieces(attempt: AttemptFolder, report: ImportReport) -> Iterator[RecordPiece]:
    """Yield the records of an attempt, epoch by epoch, and report what cannot be read. Raise OSError."""
    for epoch, file in sorted(attempt.records.items()):
        yield from _pieces(attempt.n, epoch, file, report)


def _pieces(n: int, epoch: int, file: File, report: ImportReport) -> Iterator[RecordPiece]:
    end, are_times_good = 0, True
    piece = RecordPiece(n, epoch, 0, 0)
    for read in _in_sequence(_read_lines(file), file.name, report):
        is_long = end - piece.start >= PIECE_BYTES
        if len(piece.lines) >= PIECE_LINES or len(piece.broken) >= MAX_BROKEN or is_long:
            yield replace(piece, end=end)
            piece = RecordPiece(n, epoch, end, end)
        end = read.end
        if read.line is None:
            piece.broken.append(BrokenLine(read.start, read.wrong))
            _report(report, file, read.number, read.wrong)
        else:
            piece.lines.append(read.line)
            piece.bodies.append(read.body)
            if reason := refusal(read.line):
                _report(report, file, read.number, f"the record cannot be stored: {reason}")
            if are_times_good and not is_time(read.line.t):
                # Once for the file: a program that writes such times writes them into every record.
                are_times_good = False
                _report(report, file, read.number, f"{describe_bad_time(read.line.t)}: the record has no time")
    cut = file.size - end
    if cut:
        report.is_cut = True
        _report(report, file, 0, f"the last line is cut off after {cut} bytes: one record is lost")
    yield replace(piece, end=end, is_last=True, cut_bytes=cut)


def _read_lines(file: File) -> Iterator[_Read]:
    """Yield the whole lines. A line of more than MAX_LINE_BYTES is no record: it is read in parts and reported once."""
    number, start, rest = 1, 0, bytearray()
    long_from: int | None = None
    with file.open() as opened:
        while data := opened.read(READ_BYTES):
            rest += data
            lines = rest.split(b"\n")
            for raw in lines[:-1]:
                end = start + len(raw) + 1
                if long_from is not None:
                    yield _Read(number, long_from, end, wrong=f"a line of more than {MAX_LINE_BYTES} bytes")
                else:
                    yield _parse(number, start, end, bytes(raw))
                number, start, long_from = number + 1, end, None
            rest = lines[-1]
            if len(rest) > MAX_LINE_BYTES:
                long_from = start if long_from is None else long_from
                start, rest = start + len(rest), bytearray()


def _parse(number: int, start: int, end: int, raw: bytes) -> _Read:
    try:
        body = loads(raw)
    except ValueError as error:
        return _Read(number, start, end, wrong=f"not JSON: {error}"[:200])
    try:
        line = unpack(body)
    except BadLine as error:
        return _Read(number, start, end, wrong=str(error))
    return _Read(number, start, end, line, body)


def _in_sequence(reads: Iterable[_Read], name: str, report: ImportReport) -> Iterator[_Read]:
    """Yield the lines, and report a `seq` that does not follow the one before it.

    A single one that lies outside of its neighbours is damaged: taken as it is, it would hide the lines after it, since
    a record is known by its seq.
    """
    expected, held = 0, None
    for read in reads:
        if held is not None:
            checked, expected = _check(held, read, expected, name, report)
            yield from checked
        held = read
    if held is not None:
        yield from _check(held, None, expected, name, report)[0]


def _check(
    read: _Read, following: _Read | None, expected: int, name: str, report: ImportReport
) -> tuple[list[_Read], int]:
    """Return (the line if it counts, the seq expected next)."""
    if read.line is None:
        return [read], expected
    seq = read.line.seq
    is_followed = following is not None and following.line is not None and following.line.seq > expected
    if seq > expected and is_followed and following is not None and following.line and following.line.seq <= seq:
        wrong = f"seq {seq} lies between {expected - 1} and {following.line.seq}: the record is left out"
        return [_Read(read.number, read.start, read.end, wrong=wrong)], expected
    if seq < expected:
        report.add_remark(f"{name}, line {read.number}", f"seq {seq} was read before: only the first one counts")
        return [], expected
    if seq > expected:
        missing = f"{seq - expected} records are missing" if seq > expected + 1 else "one record is missing"
        report.add_remark(f"{name}, line {read.number}", f"{missing}: seq {seq} follows {expected - 1}")
    return [read], seq + 1


def _report(report: ImportReport, file: File, number: int, reason: str) -> None:
    report.add_remark(f"{file.name}, line {number}" if number else file.name, reason)
