"""Read a log by pages, each addressed by its position in bytes: a log of a million lines opens as fast as one of
ten."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from runs.http import MAX_SEARCH_SECONDS, search_slot
from runs.models import Attempt
from runs.run_page.log.line_index import BLOCK_BYTES, PAGE_BYTES, beginning_of_line, newlines_before
from runs.run_page.log.terminal import Span, Terminal

PAGE_LINES = 500


@dataclass(frozen=True)
class Line:
    """A rendered line; `is_hit` if it contains the search text."""

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
        """Return the lines as plain text."""
        return "\n".join(line.text for line in self.lines)


EMPTY_PAGE = LogPage(0, 0, 0, 1, [])


def log_path(attempt: Attempt | None) -> Path | None:
    """Return the path of the attempt's log, or None if there is no attempt or the path is a link.

    A user may have put a link to another file in place of the log.
    """
    path = attempt.directory / "log.txt" if attempt else None
    return None if path and path.is_symlink() else path


def page_from(path: Path | None, at: int, words: str = "") -> LogPage:
    """Return the page that begins with the line that contains byte `at`; EMPTY_PAGE if there is no file."""
    return _page(path, at, None, words)


def page_until(path: Path | None, end: int | None = None, words: str = "") -> LogPage:
    """Return the page that ends before byte `end`, or with the log; EMPTY_PAGE if there is no file."""
    return _page(path, None, end, words)


class SearchStopped(Exception):
    """A search that took longer than MAX_SEARCH_SECONDS. It can be continued from the byte `position`."""

    def __init__(self, position: int) -> None:
        super().__init__(f"the search was stopped at byte {position}")
        self.position = position


def find(
    path: Path | None, words: str, after: int = 0, before: int | None = None, reader: int | None = None
) -> int | None:
    """Return the start of the next line that contains the words, in either case; with `before`, of the last line that
    ends before it.

    Return None if no line does. The search wraps around the end of the log. `reader` is the id of the user who
    searches. Raise SearchStopped if it takes too long, and SearchesBusy if there is no slot for it.
    """
    needle = words.encode().lower()
    if not needle or path is None or not path.is_file():
        return None
    with search_slot(reader), path.open("rb") as file:
        size, stop_at = file.seek(0, io.SEEK_END), time.monotonic() + MAX_SEARCH_SECONDS
        if before is None:
            hit = _first(file, needle, after, size, stop_at)
            hit = _first(file, needle, 0, min(size, after + len(needle)), stop_at) if hit is None else hit
        else:
            hit = _last(file, needle, 0, before, stop_at)
            hit = _last(file, needle, before, size, stop_at) if hit is None else hit
        return None if hit is None else beginning_of_line(file, hit)


def _page(path: Path | None, at: int | None, end: int | None, words: str) -> LogPage:
    if path is None or not path.is_file():
        return EMPTY_PAGE
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        start, raw = _lines_until(file, min(end or size, size)) if at is None else _lines_from(file, min(at, size))
        first = 1 + newlines_before(path, file, start)
    terminal, needle = Terminal(), words.encode().lower()
    rendered = [_line(terminal, line, needle) for line in raw]
    return LogPage(start, start + sum(map(len, raw)), size, first, rendered)


def _line(terminal: Terminal, raw: bytes, needle: bytes) -> Line:
    text = raw.removesuffix(b"\n").decode("utf-8", errors="replace")
    return Line(terminal.line(text), bool(needle) and needle in raw.lower())


def _lines_from(file: BinaryIO, at: int) -> tuple[int, list[bytes]]:
    start = beginning_of_line(file, at)
    file.seek(start)
    data = file.read(PAGE_BYTES)
    lines = _split(data)
    # A line that continues behind the page belongs to the next page, unless it fills the whole page.
    if len(lines) > 1 and len(data) == PAGE_BYTES and not data.endswith(b"\n"):
        lines.pop()
    return start, lines[:PAGE_LINES]


def _lines_until(file: BinaryIO, end: int) -> tuple[int, list[bytes]]:
    start = max(0, end - PAGE_BYTES)
    file.seek(start)
    lines = _split(file.read(end - start))
    # The end of a line with a cut beginning is kept only if the line overwrites itself, like a progress bar.
    if start and len(lines) > 1 and b"\r" not in lines[0].rstrip(b"\r\n"):
        start += len(lines.pop(0))
    skipped = lines[:-PAGE_LINES]
    return start + sum(map(len, skipped)), lines[-PAGE_LINES:]


def _split(data: bytes) -> list[bytes]:
    """Return the lines with their ends. Only \\n ends a line: a carriage return overwrites it."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def _first(file: BinaryIO, needle: bytes, start: int, end: int, stop_at: float) -> int | None:
    """Return the first position of the needle in [start, end), in either case; None if there is none. Blocks overlap,
    so that none cuts a hit."""
    for low in _until_stopped(range(start, end, BLOCK_BYTES), stop_at):
        file.seek(low)
        data = file.read(min(BLOCK_BYTES + len(needle) - 1, end - low))
        if (offset := data.lower().find(needle)) >= 0:
            return low + offset
    return None


def _last(file: BinaryIO, needle: bytes, start: int, end: int, stop_at: float) -> int | None:
    for high in _until_stopped(range(end, start, -BLOCK_BYTES), stop_at, overlap=len(needle) - 1):
        low = max(start, high - BLOCK_BYTES)
        file.seek(low)
        data = file.read(min(high + len(needle) - 1, end) - low)
        if (offset := data.lower().rfind(needle)) >= 0:
            return low + offset
    return None


def _until_stopped(positions: Iterable[int], stop_at: float, overlap: int = 0) -> Iterator[int]:
    """Yield positions to search at. Raise SearchStopped with the next one after this reading of the monotonic clock;
    the overlap is added to it."""
    for number, position in enumerate(positions):
        # Each search reads a block, so that one that is continued again and again ends.
        if number and time.monotonic() > stop_at:
            raise SearchStopped(position + overlap)
        yield position
