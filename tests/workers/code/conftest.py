"""A copy of the package that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workers.code import PACKAGE


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package `workers`, in a project of its own."""
    folder = tmp_path / "project" / "workers"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
