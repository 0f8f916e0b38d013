"""Read the records of a spool: each valid line, with the number of valid lines before it as its seq."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIECE_BYTES = 1024 * 1024
PIECE_LINES = 1_000
RECORD_START = b'{"t":'


@dataclass(frozen=True)
class Entry:
    """A record as it is sent. `end` is the offset after its line; `body` its content, without seq."""

    seq: int
    end: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Cursor:
    """A place in a file of records: the offset of a line, and the number of valid lines before it."""

    offset: int = 0
    seq: int = 0


def read_entries(path: Path, cursor: Cursor, max_lines: int = PIECE_LINES) -> tuple[list[Entry], Cursor]:
    """Return the next records, and the place after them. A missing file has none. Raise OSError."""
    data = _read_lines(path, cursor.offset)
    entries: list[Entry] = []
    at = cursor.offset
    seq = cursor.seq
    for line in data.split(b"\n")[:-1]:
        if len(entries) >= max_lines:
            break
        at += len(line) + 1
        body = parse(line)
        if body is not None:
            entries.append(Entry(seq, at, body))
            seq += 1
    return entries, Cursor(at, seq)


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line; None if the line is blank or broken.

    A record written after a torn line of another process shares that line: it is the rest from its own beginning on.
    """
    body = _parse(line)
    if body is None and (at := line.rfind(RECORD_START, 1)) > 0:
        body = _parse(line[at:])
    return body


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and "t" in body and "kind" in body else None


def _read_lines(path: Path, offset: int) -> bytes:
    """Return whole lines from an offset: about a piece, or one line if it is longer."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(PIECE_BYTES)
            if data and b"\n" not in data:
                data += file.readline()
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]
