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
    """Write the folder under another name, flush it and rename it; an older folder of that name is replaced.

    `notes` are text files to store with the weights, by name. Return (bytes of all files, sha256 of the weights). Raise
    OSError if the disk is full; nothing is left then.
    """
    half_done = _temporary_path(directory, "half-done")
    try:
        half_done.mkdir(parents=True)
        model.save_pretrained(half_done)
        tokenizer.save_pretrained(half_done)
        for name, text in notes.items():
            (half_done / name).write_text(text, encoding="utf-8")
        _make_readable(half_done)
        size, sha256 = _size(half_done), weights_sha256(half_done)
        put_in_place(half_done, directory)
    except BaseException:
        shutil.rmtree(half_done, ignore_errors=True)
        raise
    return size, sha256


def weights_sha256(folder: Path) -> str:
    """Return the sha256 over a checkpoint's safetensors files, in the order of their names; not those in its
    folders."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as weights:
            while block := weights.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def put_in_place(half_done: Path, directory: Path) -> None:
    """Give a folder its name, flushed to disk before; an older one of that name is replaced.

    A kill at any time leaves the old one, the new one or, for an instant, none: never a part of one.
    """
    _flush(half_done)
    # A rename cannot replace a folder that is not empty, so an older one steps aside first.
    old = _temporary_path(directory, "old")
    if directory.exists():
        directory.rename(old)
    half_done.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _temporary_path(directory: Path, label: str) -> Path:
    """Return a hidden sibling of `directory` that only this process uses; a killed process of its id may have left one,
    which is removed."""
    path = directory.parent / f".{directory.name}.{label}.{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    return path


def _make_readable(folder: Path) -> None:
    """Make the weights as readable as the config: safetensors creates its files for their owner alone."""
    for weights in folder.glob("*.safetensors"):
        weights.chmod((folder / "config.json").stat().st_mode)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _flush(folder: Path) -> None:
    """Force the files to disk, so that the rename cannot outlive their contents."""
    for file in (f for f in sorted(folder.rglob("*")) if f.is_file()):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
