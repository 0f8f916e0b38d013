"""Convert between line numbers and bytes of a log, with at most one block of it in memory."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

PAGE_BYTES = 256 * 1024
BLOCK_BYTES = 4 * 1024 * 1024


def line_start(path: Path | None, number: int) -> int:
    """Return the byte at which line `number` begins, counted from 1; for a shorter log, the start of its last line."""
    if path is None or not path.is_file():
        return 0
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        block, before = _block_before_line(path, size, number)
        file.seek(block * BLOCK_BYTES)
        start = block * BLOCK_BYTES + _behind_newlines(file.read(BLOCK_BYTES), number - 1 - before)
        return start if start < size else beginning_of_line(file, max(0, size - 1))


def beginning_of_line(file: BinaryIO, at: int) -> int:
    """Return the start of the line that contains byte `at`; for a line longer than a page, the start of its page."""
    low = max(0, at - PAGE_BYTES)
    file.seek(low)
    before = file.read(at - low)
    newline = before.rfind(b"\n")
    return low + newline + 1 if newline >= 0 else low if low == 0 and at < PAGE_BYTES else at


def newlines_before(path: Path, file: BinaryIO, end: int) -> int:
    """Count the newlines before byte `end`. Whole blocks are counted once: the written part of a log never changes."""
    whole = end // BLOCK_BYTES
    inode = path.stat().st_ino
    file.seek(whole * BLOCK_BYTES)
    counted = sum(_newlines_of_block(path, inode, i) for i in range(whole))
    return counted + file.read(end - whole * BLOCK_BYTES).count(b"\n")


def _block_before_line(path: Path, size: int, number: int) -> tuple[int, int]:
    """Return the block that holds the newline before a line, or the last block; and the number of newlines before the
    block."""
    inode, before = path.stat().st_ino, 0
    for block in range(size // BLOCK_BYTES):
        newlines = _newlines_of_block(path, inode, block)
        if before + newlines >= number - 1:
            return block, before
        before += newlines
    return size // BLOCK_BYTES, before


def _behind_newlines(data: bytes, count: int) -> int:
    """Return the position after `count` newlines; the end of the data if there are fewer."""
    position = -1
    for _ in range(count):
        position = data.find(b"\n", position + 1)
        if position < 0:
            return len(data)
    return position + 1


@lru_cache(maxsize=16_384)
def _newlines_of_block(path: Path, inode: int, i: int) -> int:
    with path.open("rb") as file:
        file.seek(i * BLOCK_BYTES)
        return file.read(BLOCK_BYTES).count(b"\n")
