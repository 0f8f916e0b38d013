"""Records of checkpoints that lie elsewhere: their path, size and fingerprint. Nothing of their content is sent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from esweb_client.values import BadValue

MAX_PATH = 1_000
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Size up to which the content of a file is part of the fingerprint; of a larger one, its name and size are."""
MAX_CONTENT_BYTES = 1024 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024


def checkpoint_path(path: Any) -> str:
    """Return the path as the server stores it: relative, with "/" between its parts. Raise BadValue."""
    text = os.fsdecode(path).replace("\\", "/") if os.sep == "\\" else os.fsdecode(path)
    text = text.lstrip("/").removeprefix("./").rstrip("/")
    if not text or ".." in text or len(text) > MAX_PATH or not text.isprintable():
        raise BadValue(f"must be a path of 1 to {MAX_PATH} printable characters without '..', not {text[:100]!r}")
    return text


def checkpoint_fields(path: Any, step: int) -> dict[str, Any]:
    """Return the fields of a checkpoint's record: a folder's, or those of a single file. Raise BadValue or OSError."""
    place = Path(os.fsdecode(path))
    files = sorted(_files(place), key=lambda file: file.relative_to(place).as_posix())
    if not files:
        raise BadValue("must be a file, or a folder with files")
    fingerprint, size, left = hashlib.sha256(), 0, MAX_CONTENT_BYTES
    for file in files:
        length = file.stat().st_size
        name = file.relative_to(place).as_posix()
        fingerprint.update(f"{name}\0{length}\0".encode("utf-8", "replace"))
        if length <= min(MAX_FILE_BYTES, left):
            left -= length
            _add_content(fingerprint, file)
        size += length
    return {"step": step, "path": checkpoint_path(path), "bytes": size, "sha256": fingerprint.hexdigest()}


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for folder, _, names in os.walk(place):
        for name in names:
            file = Path(folder, name)
            if file.is_file():
                yield file


def _add_content(fingerprint: Any, file: Path) -> None:
    with file.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            fingerprint.update(block)
