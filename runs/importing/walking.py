"""Paths -> files. A folder is walked without following links, so that nothing outside it is read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from runs.importing import compressed
from runs.importing.archives import is_archive, members
from runs.importing.files import FILE_AT_MOST, NAME_AT_MOST, OUTSIDE, File, Refused, clean, natural, window
from runs.importing.wide_text import narrowed

FILES_AT_MOST = 10_000
LEFT_ALONE = {".git", "__pycache__", ".venv", "node_modules"}
ABOVE = 4
"""So many parts of a path are looked at for what they say about a run."""


def of_path(path: Path, keep: ExitStack) -> Iterator[File | Refused]:
    """A file, an archive's members, or all that lies in a folder, in the order in which people count."""
    if not path.is_dir():
        yield from _of_file(path, path.name, keep)
        return
    root = path.resolve()
    for i, (file, why) in enumerate(_walked(root, root)):
        name = f"{root.name}/{file.relative_to(root).as_posix()}"
        if i >= FILES_AT_MOST:
            yield Refused(root.name, f"holds more than {FILES_AT_MOST} files: the others were not looked at")
            return
        yield from (Refused(name, why),) if why else _of_file(file, name, keep)


def of_upload(upload: IO[bytes], size: int, name: str, keep: ExitStack) -> Iterator[File | Refused]:
    """An uploaded file, or the members of an uploaded archive. The upload must stay open while these are read."""
    shown = clean(name)
    if not shown:
        yield Refused(name[:NAME_AT_MOST] or "a file without a name", OUTSIDE)
        return
    yield from _unpacked(File(shown, shown, size, window(upload, 0, size)), keep)


def _walked(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """(file, why it is not read)."""
    try:
        inside = sorted(folder.iterdir(), key=lambda path: natural(path.name))
    except OSError as error:
        yield folder, f"cannot be read: {error.strerror}"
        return
    for path in inside:
        if path.is_symlink():
            yield path, _about_link(path, root)
        elif not path.is_dir():
            yield path, ""
        elif path.name not in LEFT_ALONE:
            yield from _walked(path, root)


def _about_link(path: Path, root: Path) -> str:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link that leads nowhere: not read"
    is_inside = target.is_relative_to(root)
    return "is a link to what is read anyway: not read twice" if is_inside else "is a link out of the folder: not read"


def _of_file(path: Path, name: str, keep: ExitStack) -> Iterator[File | Refused]:
    try:
        found = path.stat()
    except OSError as error:
        yield Refused(name, f"cannot be read: {error.strerror}")
        return
    if not stat.S_ISREG(found.st_mode):
        yield Refused(name, "is no regular file: not read")
        return
    above = clean("/".join(path.absolute().parts[1:][-ABOVE:]))
    yield from _unpacked(File(clean(name), above, found.st_size, lambda: path.open("rb"), found.st_mtime), keep)


def _unpacked(file: File, keep: ExitStack) -> Iterator[File | Refused]:
    if file.size > FILE_AT_MOST:
        yield Refused(file.name, f"has {file.size} bytes; at most {FILE_AT_MOST} are read")
        return
    try:
        for one in _inside(file, keep):
            yield narrowed(one, keep) if isinstance(one, File) else one
    except OSError as error:
        yield Refused(file.name, f"cannot be read: {error.strerror}")


def _inside(file: File, keep: ExitStack) -> Iterator[File | Refused]:
    if compressed.is_one(file):
        return compressed.unpacked(file, keep)
    return members(file, keep) if is_archive(file) else iter((file,))
