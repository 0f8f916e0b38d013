"""Code that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workers.code import PACKAGE


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A few files of the package `workers`, with those that unpack it, in a project of its own."""
    folder = tmp_path / "project" / "workers"
    shutil.copytree(PACKAGE / "code", folder / "code", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "train.py"):
        shutil.copy(PACKAGE / name, folder)
    return folder
