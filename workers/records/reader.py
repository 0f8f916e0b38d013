"""Reads a records file from an offset: whole lines only, so a line being written is seen when it is whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from workers.records.kinds import Line
from workers.records.lines import MAX_LINE_BYTES, BadLine, unpack


@dataclass(frozen=True)
class Broken:
    """A line that is no record: its byte offset and what is wrong. It is reported, never skipped in silence."""

    offset: int
    why: str


@dataclass(frozen=True)
class Piece:
    """What one read gave: lines in file order, broken ones, and the offset to go on from."""

    lines: list[Line]
    broken: list[Broken]
    next_offset: int


def read(path: Path, offset: int = 0, limit: int = 1024 * 1024) -> Piece:
    """Reads up to `limit` bytes from `offset` (more where one line is longer). A missing file is an empty one.

    A file shorter than `offset` was replaced: reading starts again at 0, and (attempt, epoch, seq) drops what is known.
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
        return Piece([], [Broken(start, f"a line of more than {MAX_LINE_BYTES} bytes")], start + len(data))
    return _split(data[: data.rfind(b"\n") + 1], start)


def _split(data: bytes, start: int) -> Piece:
    lines: list[Line] = []
    broken: list[Broken] = []
    at = start
    for raw in (line + b"\n" for line in data.split(b"\n")[:-1]):
        try:
            lines.append(unpack(raw))
        except BadLine as error:
            broken.append(Broken(at, str(error)))
        at += len(raw)
    return Piece(lines, broken, start + len(data))
