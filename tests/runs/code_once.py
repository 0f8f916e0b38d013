"""The code that launches pin, read and bundled once for all tests: to read it takes four calls of git."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from runs.launching import code
from workers.code import bundle_path, code_of, unpack_package

code_of_once = cache(code_of)


def read_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launches use the code as it was when a test first launched."""
    monkeypatch.setattr(code, "code_of", code_of_once)
    monkeypatch.setattr(code, "unpack_package", _unpacked_once)


def _unpacked_once(root: Path) -> Path:
    """Return the folder under `root` that holds this code, without looking at the code again if it is there."""
    sha256 = code_of_once().sha256
    is_there = bundle_path(root, sha256).is_file() and (root / sha256).is_dir()
    return root / sha256 if is_there else unpack_package(root)
