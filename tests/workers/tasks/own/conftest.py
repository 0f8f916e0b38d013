"""The folder that an administrator allowed."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one, allowed."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(allowed))
    return allowed
