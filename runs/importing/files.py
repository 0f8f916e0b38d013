"""Files to be read: by path or uploaded, single, in a folder, in an archive. A name is words to show, and never a place
on this disk."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, BinaryIO, cast

MB = 1024 * 1024
FILE_AT_MOST = 1024 * MB
NAME_AT_MOST = 500
OUTSIDE = "its name leads out of the folder that it is in: not read; names must be relative, without .."


@dataclass(frozen=True)
class File:
    """A file that can be read any number of times. `named` is its name with the folders that stand above it, for what
    those say about the run.

    `is_cut`: it was compressed, and what it was unpacked to ends early. `is_damaged`: its checksum does not fit.
    """

    name: str
    named: str
    size: int
    open: Callable[[], BinaryIO]
    modified_at: float | None = None
    is_cut: bool = False
    is_damaged: bool = False

    @property
    def folder(self) -> str:
        """The folder that holds it."""
        return str(PurePosixPath(self.name).parent)

    def head(self, count: int) -> bytes:
        """Return the first `count` bytes. Raise OSError."""
        with self.open() as file:
            return file.read(count)


@dataclass(frozen=True)
class Refused:
    """Something that is not read, and why."""

    name: str
    why: str


class Window(io.RawIOBase):
    """`size` bytes of a file that is open already, from `start` on. Closing it leaves that file open."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        self._file.seek(self._start + self._at)
        data = self._file.read(max(0, min(len(view), self._size - self._at)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def window(file: IO[bytes], start: int, size: int) -> Callable[[], BinaryIO]:
    """Opens a stretch of an open file."""
    return lambda: cast(BinaryIO, io.BufferedReader(Window(file, start, size), 64 * 1024))


def clean(name: str) -> str:
    """A name as words: nothing that cannot be shown. Empty where it wants to lead elsewhere."""
    shown = re.sub("[\x00-\x1f\x7f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", name.replace("\\", "/"))
    parts = [part for part in shown.split("/") if part not in ("", ".")]
    is_outside = shown.startswith("/") or ".." in parts or re.match("[A-Za-z]:", shown) is not None
    return "" if is_outside else "/".join(parts)[:NAME_AT_MOST]


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts checkpoint-500 before checkpoint-1000."""
    found = re.findall(r"([0-9]+)|([^0-9]+)", name)
    return [(0, int(digits[:18]), "") if digits else (1, 0, words) for digits, words in found]
