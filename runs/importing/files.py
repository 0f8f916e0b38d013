"""Files to be read: by path or uploaded, single, in a folder, in an archive. A name is text to display, and never a
path on this disk."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, BinaryIO, cast

MB = 1024 * 1024
MAX_FILE_BYTES = 1024 * MB
MAX_NAME_LENGTH = 500
OUTSIDE = "its name points outside its folder: not read; names must be relative, without .."


@dataclass(frozen=True)
class File:
    """A file that can be read any number of times. `path` is its name with the folders above it, which may state
    settings of the run.

    `is_cut`: it was compressed, and what it was unpacked to ends early. `is_damaged`: its checksum does not fit.
    """

    name: str
    path: str
    size: int
    open: Callable[[], BinaryIO]
    modified_at: float | None = None
    is_cut: bool = False
    is_damaged: bool = False
    origin: tuple[IO[bytes], int] | None = None
    """The open file that holds its bytes, and the offset at which they begin there; None if it is opened by path."""

    @property
    def folder(self) -> str:
        """Return the name of the folder that holds the file."""
        return str(PurePosixPath(self.name).parent)

    def head(self, count: int) -> bytes:
        """Return the first `count` bytes. Raise OSError."""
        with self.open() as file:
            return file.read(count)


@dataclass(frozen=True)
class RefusedFile:
    """A file, member or folder that is not read, and the reason.

    `expected`: names that would do, such as those of a column of steps; `expected_what` says of what they are names.
    """

    name: str
    reason: str
    expected_what: str = ""
    expected: tuple[str, ...] = ()


class Window(io.RawIOBase):
    """Reader of `size` bytes of an open file, from `start` on. Closing it leaves that file open."""

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
    """Return a function that opens `size` bytes of an open file, from `start` on."""
    return lambda: cast(BinaryIO, io.BufferedReader(Window(file, start, size), 64 * 1024))


def clean_name(name: str) -> str:
    """Return a name that can be displayed, without control characters; an empty text if it leads out of its folder."""
    visible_name = re.sub("[\x00-\x1f\x7f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", name.replace("\\", "/"))
    parts = [part for part in visible_name.split("/") if part not in ("", ".")]
    is_outside = visible_name.startswith("/") or ".." in parts or re.match("[A-Za-z]:", visible_name) is not None
    return "" if is_outside else "/".join(parts)[:MAX_NAME_LENGTH]


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that orders checkpoint-500 before checkpoint-1000."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    return [(0, int(digits[:18]), "") if digits else (1, 0, words) for digits, words in parts]
