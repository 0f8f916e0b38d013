"""Paths -> files. A folder is walked without following links, so that nothing outside it is read."""

from __future__ import annotations

import codecs
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO

from runs.importing import compressed
from runs.importing.archives import members
from runs.importing.budget import PIECE, Budget, OverBudget
from runs.importing.files import FILE_AT_MOST, NAME_AT_MOST, OUTSIDE, File, Refused, clean, natural, window
from runs.importing.unpacking import Unpacking, is_archive

SIGNS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FOUR_BYTES = codecs.BOM_UTF32_LE
BLOCK = 512
LEFT_ALONE = {".git", "__pycache__", ".venv", "node_modules"}
ABOVE = 4
"""So many parts of a path are looked at for what they say about a run."""


def narrowed(file: File, unpacking: Unpacking) -> File:
    """Return the same file as UTF-8; unchanged if it does not say that it is UTF-16. Raise OSError."""
    head = file.head(4)
    if not head.startswith(SIGNS) or head == FOUR_BYTES:
        return file
    decoder, start = codecs.getincrementaldecoder("utf-16")(errors="replace"), unpacking.used
    with file.open() as wide:
        while piece := wide.read(PIECE):
            _add(decoder.decode(piece).encode(errors="replace"), unpacking)
        _add(decoder.decode(b"", final=True).encode(), unpacking)
    return unpacking.file(file.name, file.named, start, file.modified_at)


def _add(piece: bytes, unpacking: Unpacking) -> None:
    unpacking.budget.add_inflated(len(piece))
    unpacking.write(piece)


def of_path(path: Path, keep: ExitStack, budget: Budget | None = None) -> Iterator[File | Refused]:
    """Yield a file, an archive's members, or all that lies in a folder, in the order in which people count.

    Nothing more is yielded beyond a limit of the budget, and the last Refused says which. Files can be read until
    `keep` is closed.
    """
    unpacking = Unpacking(keep, budget or Budget())
    return _within_budget(path.name, _of_path(path, unpacking))


def of_upload(
    upload: IO[bytes], size: int, name: str, keep: ExitStack, budget: Budget | None = None
) -> Iterator[File | Refused]:
    """Yield an uploaded file, or the members of an uploaded archive, as `of_path` does. The upload must stay open."""
    unpacking = Unpacking(keep, budget or Budget())
    return _within_budget(name[:NAME_AT_MOST], _of_upload(upload, size, name, unpacking))


def _within_budget(name: str, files: Iterator[File | Refused]) -> Iterator[File | Refused]:
    try:
        yield from files
    except OverBudget as error:
        yield Refused(name, f"is not read on: {error.strerror}")


def _of_path(path: Path, unpacking: Unpacking) -> Iterator[File | Refused]:
    if not path.is_dir():
        yield from _of_file(path, path.name, unpacking)
        return
    root = path.resolve()
    for file, why in _walked(root, root):
        name = f"{root.name}/{file.relative_to(root).as_posix()}"
        yield from (Refused(name, why),) if why else _of_file(file, name, unpacking)


def _of_upload(upload: IO[bytes], size: int, name: str, unpacking: Unpacking) -> Iterator[File | Refused]:
    shown = clean(name)
    if not shown:
        yield Refused(name[:NAME_AT_MOST] or "a file without a name", OUTSIDE)
        return
    yield from _unpacked(File(shown, shown, size, window(upload, 0, size)), unpacking)


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


def _of_file(path: Path, name: str, unpacking: Unpacking) -> Iterator[File | Refused]:
    try:
        found = path.stat()
    except OSError as error:
        yield Refused(name, f"cannot be read: {error.strerror}")
        return
    if not stat.S_ISREG(found.st_mode):
        yield Refused(name, "is no regular file: not read")
        return
    above = clean("/".join(path.absolute().parts[1:][-ABOVE:]))
    yield from _unpacked(File(clean(name), above, found.st_size, lambda: path.open("rb"), found.st_mtime), unpacking)


def _unpacked(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    unpacking.budget.add_file()
    file = replace(file, open=unpacking.budget.timed(file.open))
    if file.size > FILE_AT_MOST:
        yield Refused(file.name, f"has {file.size} bytes; at most {FILE_AT_MOST} are read")
        return
    try:
        for one in _inside(file, unpacking):
            yield _readable(one, unpacking) if isinstance(one, File) else one
    except OverBudget:
        raise
    except OSError as error:
        yield Refused(file.name, f"cannot be read: {error.strerror}")


def _inside(file: File, unpacking: Unpacking) -> Iterator[File | Refused]:
    if compressed.is_one(file):
        return compressed.unpacked(file, unpacking)
    return members(file, unpacking) if is_archive(file.head(BLOCK)) else iter((file,))


def _readable(file: File, unpacking: Unpacking) -> File:
    """Return the file as UTF-8, on the clock of the import."""
    file = narrowed(file, unpacking)
    return replace(file, open=unpacking.budget.timed(file.open))
