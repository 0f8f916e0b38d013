"""A folder as one tar file, sent while it is read: however large, never more than a piece of it is in memory.

Tar and not zip, because its length is known beforehand, so that a download that broke off is seen to have, and because
it can be unpacked while it arrives.
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
    """What a file's bytes come from; several may come from one, in order."""

    @property
    def name(self) -> str:
        """For a person to know it by."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, fewer only at the end."""

    def close(self) -> None:
        """Nothing is read any more. Safe to repeat."""


def send(archive: Archive, name: str) -> StreamingHttpResponse:
    """An archive as `name`.tar, which closes it."""
    # It may take an hour, which is too long to hold one of a few connections to the database.
    if not connection.in_atomic_block:
        connection.close()
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.tar"',
        "Content-Length": str(len(archive)),
        # Weights do not get smaller, and a length that is said must be true: the middleware shall not compress it.
        "Content-Encoding": "identity",
    }
    return StreamingHttpResponse(archive, content_type="application/x-tar", headers=headers)


@dataclass(frozen=True)
class Member:
    """One file of the folder, open."""

    header: bytes
    file: Readable
    size: int

    @property
    def padding(self) -> int:
        """Bytes up to the next whole block."""
        return -self.size % BLOCK


class Archive:
    """All files are opened at once, so that what is removed meanwhile still arrives whole. To be closed."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    @classmethod
    def of(cls, folder: Path, name: str) -> Self:
        """Of a folder on this disk. Raises FileNotFoundError where it is not there, or empty, and OSError."""
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
            left = member.size
            while left:
                # In a thread: a disk that is slow must not hold up what else this server sends.
                piece = await asyncio.to_thread(member.file.read, min(left, PIECE))
                if not piece:
                    raise OSError(f"{member.file.name} has become shorter while it was sent")
                left -= len(piece)
                yield piece
            yield bytes(member.padding)
        yield END

    def close(self) -> None:
        """Closes the files. Django calls it, also where nobody read to the end."""
        for member in self.members:
            member.file.close()


def _member(path: Path, name: str) -> Member:
    file = path.open("rb")
    size = file.seek(0, 2)
    file.seek(0)
    return Member(header(name, size, int(path.stat().st_mtime)), file, size)


def header(name: str, size: int, modified_at: int = 0) -> bytes:
    """What stands before a file in a tar."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, modified_at
    return info.tobuf(tarfile.GNU_FORMAT)
