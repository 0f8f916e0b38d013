"""Send a folder as one tar file while reading it: at most one piece of it is in memory.

The format is tar and not zip, because its length is known beforehand, so that a client notices a broken download, and
because it can be unpacked while it arrives.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from django.db import connection
from django.http import StreamingHttpResponse

BLOCK = 512
PIECE = 1 << 20
END = bytes(2 * BLOCK)


class Readable(Protocol):
    """Source of a file's bytes; several files may be read from one source, in order."""

    @property
    def name(self) -> str:
        """Name of the source, for messages."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end."""

    def close(self) -> None:
        """Close the source; nothing is read from it any more. Safe to repeat."""


def send(archive: Archive, name: str) -> StreamingHttpResponse:
    """Return a response that sends an archive as `name`.tar and then closes it."""
    # Sending may take an hour, which is too long to occupy one of a few connections to the database.
    if not connection.in_atomic_block:
        connection.close()
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.tar"',
        "Content-Length": str(len(archive)),
        # Weights hardly compress, and the announced length must be true: the middleware must not compress the response.
        "Content-Encoding": "identity",
    }
    return StreamingHttpResponse(archive, content_type="application/x-tar", headers=headers)


@dataclass(frozen=True)
class Member:
    """An open file of the folder, with its tar header."""

    header: bytes
    file: Readable
    size: int

    @property
    def padding(self) -> int:
        """Return the number of bytes up to the next whole block."""
        return -self.size % BLOCK


class Archive:
    """An archive of open files. All files are opened immediately, so that a file deleted meanwhile is still sent
    completely. Close it after use."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    @classmethod
    def from_folder(cls, folder: Path, name: str) -> Self:
        """Open the files of a folder on this disk. Raise FileNotFoundError if the folder is missing or empty, and
        OSError."""
        archive = cls([])
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        if not paths:
            raise FileNotFoundError(f"{folder} holds no file")
        try:
            for path in paths:
                archive.members.append(_member(path, f"{name}/{path.relative_to(folder).as_posix()}"))
        except OSError:
            archive.close()
            raise
        return archive

    def __len__(self) -> int:
        return sum(len(m.header) + m.size + m.padding for m in self.members) + len(END)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for member in self.members:
            yield member.header
            remaining = member.size
            while remaining:
                # In a thread: a slow disk must not block the server's other responses.
                piece = await asyncio.to_thread(member.file.read, min(remaining, PIECE))
                if not piece:
                    raise OSError(f"{member.file.name} has become shorter while it was sent")
                remaining -= len(piece)
                yield piece
            yield bytes(member.padding)
        yield END

    def close(self) -> None:
        """Close the files. Django calls this, also if the client did not read to the end."""
        for member in self.members:
            member.file.close()


def _member(path: Path, name: str) -> Member:
    file = path.open("rb")
    size = file.seek(0, 2)
    file.seek(0)
    return Member(header(name, size, int(path.stat().st_mtime)), file, size)


def header(name: str, size: int, modified_at: int = 0) -> bytes:
    """Return the header that precedes a file in a tar."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, modified_at
    return info.tobuf(tarfile.GNU_FORMAT)
