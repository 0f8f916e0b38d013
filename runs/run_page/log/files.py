"""Reads a log by pages, each found by its place in bytes: a log of a million lines opens as fast as one of ten."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from runs.run_page.log.line_index import BLOCK_BYTES, PAGE_BYTES, beginning_of_line, newlines_before
from runs.run_page.log.terminal import Span, Terminal

PAGE_LINES = 500


@dataclass(frozen=True)
class Line:
    """A line as it is shown; `is_hit` where it holds what is looked for."""

    spans: list[Span]
    is_hit: bool

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True)
class LogPage:
    """The lines between two bytes of a log. `first` is the number of the first of them, counted from 1."""

    start: int
    end: int
    size: int
    first: int
    lines: list[Line]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def is_first(self) -> bool:
        return self.start == 0

    @property
    def is_last(self) -> bool:
        return self.end >= self.size

    @cached_property
    def text(self) -> str:
        """The lines as plain text."""
        return "\n".join(line.text for line in self.lines)


NOTHING = LogPage(0, 0, 0, 1, [])


def page_from(path: Path | None, at: int, words: str = "") -> LogPage:
    """The page that begins with the line in which byte `at` stands. NOTHING where there is no file."""
    return _page(path, at, None, words)


def page_until(path: Path | None, end: int | None = None, words: str = "") -> LogPage:
    """The page that ends before byte `end`, or with the log. NOTHING where there is no file."""
    return _page(path, None, end, words)


def find(path: Path | None, words: str, after: int = 0, before: int | None = None) -> int | None:
    """Where the next line begins that holds the words, in either case; of those that end before `before` the last.

    None where none does. Goes around the end of the log.
    """
    needle = words.encode().lower()
    if not needle or path is None or not path.is_file():
        return None
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        if before is None:
            hit = _first(file, needle, after, size)
            hit = _first(file, needle, 0, min(size, after + len(needle))) if hit is None else hit
        else:
            hit = _last(file, needle, 0, before)
            hit = _last(file, needle, before, size) if hit is None else hit
        return None if hit is None else beginning_of_line(file, hit)


def _page(path: Path | None, at: int | None, end: int | None, words: str) -> LogPage:
    if path is None or not path.is_file():
        return NOTHING
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        start, raw = _lines_until(file, min(end or size, size)) if at is None else _lines_from(file, min(at, size))
        first = 1 + newlines_before(path, file, start)
    terminal, needle = Terminal(), words.encode().lower()
    shown = [_line(terminal, line, needle) for line in raw]
    return LogPage(start, start + sum(map(len, raw)), size, first, shown)


def _line(terminal: Terminal, raw: bytes, needle: bytes) -> Line:
    text = raw.removesuffix(b"\n").decode("utf-8", errors="replace")
    return Line(terminal.line(text), bool(needle) and needle in raw.lower())


def _lines_from(file: BinaryIO, at: int) -> tuple[int, list[bytes]]:
    start = beginning_of_line(file, at)
    file.seek(start)
    data = file.read(PAGE_BYTES)
    lines = _split(data)
    # A line that goes on behind the page belongs to the next one, unless it is the page.
    if len(lines) > 1 and len(data) == PAGE_BYTES and not data.endswith(b"\n"):
        lines.pop()
    return start, lines[:PAGE_LINES]


def _lines_until(file: BinaryIO, end: int) -> tuple[int, list[bytes]]:
    start = max(0, end - PAGE_BYTES)
    file.seek(start)
    lines = _split(file.read(end - start))
    # Of a line whose beginning is cut off, the end is all that shows where it overwrites itself: a progress bar.
    if start and len(lines) > 1 and b"\r" not in lines[0].rstrip(b"\r\n"):
        start += len(lines.pop(0))
    left_out = lines[:-PAGE_LINES]
    return start + sum(map(len, left_out)), lines[-PAGE_LINES:]


def _split(data: bytes) -> list[bytes]:
    """Lines with their ends. Only \\n ends one: a carriage return overwrites it."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def _first(file: BinaryIO, needle: bytes, start: int, end: int) -> int | None:
    """The first place of the needle in [start, end), in either case. Blocks overlap, so that none cuts a hit."""
    for low in range(start, end, BLOCK_BYTES):
        file.seek(low)
        data = file.read(min(BLOCK_BYTES + len(needle) - 1, end - low))
        if (place := data.lower().find(needle)) >= 0:
            return low + place
    return None


def _last(file: BinaryIO, needle: bytes, start: int, end: int) -> int | None:
    for high in range(end, start, -BLOCK_BYTES):
        low = max(start, high - BLOCK_BYTES)
        file.seek(low)
        data = file.read(min(high + len(needle) - 1, end) - low)
        if (place := data.lower().rfind(needle)) >= 0:
            return low + place
    return None
