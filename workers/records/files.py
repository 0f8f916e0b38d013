"""Files of records, `records.<epoch>.jsonl`: a trainer appends whole lines, and a reader continues from an offset.

Each line is one `write()`, so that a kill loses at most the line in flight; the reader leaves an incomplete line for
its next call.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from workers.records.kinds import Line, Metric, Record, Status
from workers.records.lines import MAX_LINE_BYTES, BadLine, pack, unpack


def records_path(directory: Path, epoch: int) -> Path:
    """Return the file of one epoch; epochs count the scheduler's restarts inside an attempt."""
    return directory / f"records.{epoch}.jsonl"


def next_epoch(directory: Path) -> int:
    """Return the first epoch with no file yet.

    Each process start takes a file of its own, so no file has a torn middle.
    """
    taken = [int(p.name.split(".")[1]) for p in directory.glob("records.*.jsonl") if p.name.split(".")[1].isdigit()]
    return max(taken, default=-1) + 1


class RecordWriter:
    """Writer of one epoch's file, the only one, for all threads.

    `write` returns the record's seq, or raises the disk's error. `step` is that of the last metric written; 0 before
    the first.
    """

    def __init__(self, directory: Path, epoch: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._fd = os.open(records_path(directory, epoch), flags, 0o644)
        self._lock = threading.Lock()
        self._seq = 0
        self.step = 0
        self.directory = directory
        self.epoch = epoch

    def write(self, record: Record) -> int:
        """Append one record, or none of it. Raise OSError if the disk is full."""
        with self._lock:
            self._append(pack(self._seq, time.time(), record))
            self._seq += 1
            self.step = record.step if isinstance(record, Metric) else self.step
            return self._seq - 1

    def _append(self, line: bytes) -> None:
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:] if written else line)
        except OSError:
            # A part of a line would make one broken line of itself and the next record.
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise

    def close(self) -> None:
        """Flush the file to disk and close it. Safe to call twice."""
        with self._lock:
            if self._fd >= 0:
                os.fsync(self._fd)
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class SilentWriter(RecordWriter):
    """Writer that stores nothing: that of all processes of a training but the first. `failure` is the message of the
    last status that reports one."""

    def __init__(self, directory: Path, epoch: int) -> None:
        self.directory, self.epoch = directory, epoch
        self.step = 0
        self.failure = ""

    def write(self, record: Record) -> int:
        """Note a failure, and store nothing."""
        if isinstance(record, Status) and record.phase == "failed":
            self.failure = record.message
        return 0

    def close(self) -> None:
        """Do nothing: there is no file."""


@dataclass(frozen=True)
class BrokenLine:
    """Line that is not a record: its byte offset and what is wrong. It is reported, never skipped in silence."""

    offset: int
    reason: str


@dataclass(frozen=True)
class Piece:
    """Result of one read: lines in file order, broken lines, and the offset at which the next read continues."""

    lines: list[Line]
    broken: list[BrokenLine]
    next_offset: int


def read(path: Path, offset: int = 0, limit: int = 1024 * 1024) -> Piece:
    """Read up to `limit` bytes from `offset`, or more if one line is longer. A missing file counts as an empty one.

    A file shorter than `offset` was replaced: reading starts again at 0, and (attempt, epoch, seq) removes duplicates.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = offset if offset <= size else 0
            file.seek(start)
            data = file.read(limit)
            if data and b"\n" not in data and len(data) == limit:
                data += file.read(MAX_LINE_BYTES)
    except FileNotFoundError:
        return Piece([], [], offset)
    if len(data) > MAX_LINE_BYTES and b"\n" not in data:
        # Nothing that ends this line makes it a record; its rest is broken too, up to the next newline.
        return Piece([], [BrokenLine(start, f"a line of more than {MAX_LINE_BYTES} bytes")], start + len(data))
    return _split(data[: data.rfind(b"\n") + 1], start)


def _split(data: bytes, start: int) -> Piece:
    lines: list[Line] = []
    broken: list[BrokenLine] = []
    at = start
    for raw in (line + b"\n" for line in data.split(b"\n")[:-1]):
        try:
            lines.append(unpack(raw))
        except BadLine as error:
            broken.append(BrokenLine(at, str(error)))
        at += len(raw)
    return Piece(lines, broken, start + len(data))
