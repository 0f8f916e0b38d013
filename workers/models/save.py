"""Saves a model as a Hugging Face folder that is either whole or not there."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, str] = MappingProxyType({})


def save(model: Any, tokenizer: Any, directory: Path, notes: Mapping[str, str] = NOTHING) -> tuple[int, str]:
    """Writes the folder under another name, flushes it and renames it; an older folder of that name is replaced.

    `notes` are text files to lay beside the weights, by name. Returns (bytes of all files, sha256 of the weights).
    Raises OSError where the disk is full; nothing is left then.
    """
    half_done = _fresh(directory, "half-done")
    try:
        half_done.mkdir(parents=True)
        model.save_pretrained(half_done)
        tokenizer.save_pretrained(half_done)
        for name, text in notes.items():
            (half_done / name).write_text(text, encoding="utf-8")
        _open_up(half_done)
        size, sha256 = _size(half_done), weights_sha256(half_done)
        put_in_place(half_done, directory)
    except BaseException:
        shutil.rmtree(half_done, ignore_errors=True)
        raise
    return size, sha256


def weights_sha256(folder: Path) -> str:
    """sha256 over the safetensors files of a checkpoint, in the order of their names; those in folders of it apart."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as weights:
            while block := weights.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def put_in_place(half_done: Path, directory: Path) -> None:
    """Gives a folder its name, flushed to disk before; an older one of that name is replaced.

    A kill at any moment leaves the old one, the new one or, for an instant, none: never a part of one.
    """
    _flush(half_done)
    # A rename cannot replace a folder that is not empty, so an older one steps aside first.
    old = _fresh(directory, "old")
    if directory.exists():
        directory.rename(old)
    half_done.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _fresh(directory: Path, what: str) -> Path:
    """A hidden name beside `directory` that only this process uses; what a killed one of its id left is removed."""
    path = directory.parent / f".{directory.name}.{what}.{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    return path


def _open_up(folder: Path) -> None:
    """safetensors makes its files for their owner alone; whoever may read the config may read the weights."""
    for weights in folder.glob("*.safetensors"):
        weights.chmod((folder / "config.json").stat().st_mode)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _flush(folder: Path) -> None:
    """Forces the files to disk, so that the rename cannot outlive their contents."""
    for file in (f for f in sorted(folder.rglob("*")) if f.is_file()):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
