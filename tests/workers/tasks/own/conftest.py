"""The folder that an administrator allowed, and tasks that are loaded in the tests' own process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is allowed."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(allowed))
    return allowed


@pytest.fixture
def loads_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test load the user's modules in its own process, which forgets them afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
