"""Find the files at a path. A folder is walked without following links, so that nothing outside it is read."""

from __future__ import annotations

import codecs
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO

from runs.importing import compressed_files
from runs.importing.archives import members
from runs.importing.budget import PIECE, Budget, OverBudget
from runs.importing.files import (
    MAX_FILE_BYTES,
    MAX_NAME_LENGTH,
    OUTSIDE,
    File,
    RefusedFile,
    clean_name,
    natural_key,
    window,
)
from runs.importing.open_regular import open_regular
from runs.importing.run_folders.assemble import is_attempt_file
from runs.importing.spool import Unpacking, is_archive
from workers.attempt import LOG_FILE

SIGNS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FOUR_BYTES = codecs.BOM_UTF32_LE
BLOCK = 512
IGNORED_FOLDERS = {".git", "__pycache__", ".venv", "node_modules"}
MAX_PATH_PARTS = 4
"""Number of the last parts of a path that may state settings of a run."""


def to_utf8(file: File, unpacking: Unpacking) -> File:
    """Return the same file as UTF-8; unchanged if it has no byte order mark of UTF-16. Raise OSError."""
    head = file.head(4)
    if not head.startswith(SIGNS) or head == FOUR_BYTES:
        return file
    decoder, start = codecs.getincrementaldecoder("utf-16")(errors="replace"), unpacking.used
    with file.open() as utf16_file:
        while piece := utf16_file.read(PIECE):
            _add(decoder.decode(piece).encode(errors="replace"), unpacking)
        _add(decoder.decode(b"", final=True).encode(), unpacking)
    return unpacking.file(file.name, file.path, start, file.modified_at)


def _add(piece: bytes, unpacking: Unpacking) -> None:
    unpacking.budget.add_inflated(piece)
    unpacking.write(piece)


def files_from_path(
    path: Path, stack: ExitStack, budget: Budget | None = None, *, is_real: bool = False
) -> Iterator[File | RefusedFile]:
    """Yield a file, an archive's members, or all files in a folder, in natural order (2 before 10).

    `is_real`: the path has no link; one that appears in it is not followed.

    Nothing more is yielded beyond a limit of the budget, and the last RefusedFile names that limit. Files can be read
    until `stack` is closed.
    """
    unpacking = Unpacking(stack, budget or Budget())
    return _within_budget(path.name, _read_path(path if is_real else path.resolve(), path.name, unpacking))


def files_from_upload(
    upload: IO[bytes], size: int, name: str, stack: ExitStack, budget: Budget | None = None
) -> Iterator[File | RefusedFile]:
    """Yield an uploaded file, or the members of an uploaded archive, as `files_from_path` does. It must stay open."""
    return read_upload(upload, size, name, Unpacking(stack, budget or Budget()))


def read_upload(upload: IO[bytes], size: int, name: str, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    """Yield an uploaded file, or the members of an uploaded archive, unpacked there."""
    return _within_budget(name[:MAX_NAME_LENGTH], _read_upload(upload, size, name, unpacking))


def _within_budget(name: str, files: Iterator[File | RefusedFile]) -> Iterator[File | RefusedFile]:
    try:
        yield from files
    except OverBudget as error:
        yield RefusedFile(name, f"cannot be read further: {error.strerror}")


def _read_path(root: Path, file_name: str, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    if not root.is_dir():
        yield from _read_file(root, file_name, unpacking)
        return
    for file, reason in _walk(root, root):
        name = f"{root.name}/{file.relative_to(root).as_posix()}"
        yield from (RefusedFile(name, reason),) if reason else _read_file(file, name, unpacking)


def _read_upload(upload: IO[bytes], size: int, name: str, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    visible_name = clean_name(name)
    if not visible_name:
        yield RefusedFile(name[:MAX_NAME_LENGTH] or "a file without a name", OUTSIDE)
        return
    file = File(visible_name, visible_name, size, window(upload, 0, size), origin=(upload, 0))
    yield from _unpack(file, unpacking)


def _walk(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield (file, reason why it is not read); an empty reason if it is."""
    try:
        inside = sorted(folder.iterdir(), key=lambda path: natural_key(path.name))
    except OSError as error:
        yield folder, f"cannot be read: {error.strerror}"
        return
    for path in inside:
        if path.is_symlink():
            yield path, _describe_link(path, root)
        elif not path.is_dir():
            yield path, ""
        elif path.name not in IGNORED_FOLDERS:
            yield from _walk(path, root)


def _describe_link(path: Path, root: Path) -> str:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a broken link: not read"
    is_inside = target.is_relative_to(root)
    return (
        "is a link to a file that is read anyway: not read twice"
        if is_inside
        else "is a link to a target outside the folder: not read"
    )


def _read_file(path: Path, name: str, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    try:
        status = path.lstat()
    except OSError as error:
        yield RefusedFile(name, f"cannot be read: {error.strerror}")
        return
    if not stat.S_ISREG(status.st_mode):
        yield RefusedFile(name, "is not a regular file: not read")
        return
    above = clean_name("/".join(path.absolute().parts[1:][-MAX_PATH_PARTS:]))
    yield from _unpack(
        File(clean_name(name), above, status.st_size, lambda: open_regular(path, status.st_size), status.st_mtime),
        unpacking,
    )


def _unpack(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    unpacking.budget.add_file()
    unpacking.budget.add_imported(file.size)
    file = replace(file, open=unpacking.budget.timed_opener(file.open))
    if file.size > MAX_FILE_BYTES:
        yield RefusedFile(file.name, f"has {file.size} bytes; at most {MAX_FILE_BYTES} are read")
        return
    try:
        for member in _inside(file, unpacking):
            yield _readable(member, unpacking) if isinstance(member, File) else member
    except OverBudget:
        raise
    except OSError as error:
        yield RefusedFile(file.name, f"cannot be read: {error.strerror}")


def _inside(file: File, unpacking: Unpacking) -> Iterator[File | RefusedFile]:
    if is_attempt_file(file.name):
        return iter((file,))
    if compressed_files.is_single_file(file):
        return compressed_files.unpack(file, unpacking)
    return members(file, unpacking) if is_archive(file.head(BLOCK)) else iter((file,))


def _readable(file: File, unpacking: Unpacking) -> File:
    """Return the file as UTF-8, on the clock of the import."""
    is_own = is_attempt_file(file.name) and file.name.rpartition("/")[2] != LOG_FILE
    file = file if is_own else to_utf8(file, unpacking)
    return replace(file, open=unpacking.budget.timed_opener(file.open))
