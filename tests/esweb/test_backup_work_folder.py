"""A backup writes in a folder that it locks; folders that are locked, or are not of a backup, stay."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from esweb.backup import work_folder


def test_folder_of_a_running_backup_stays(tmp_path: Path) -> None:
    with (
        work_folder.work_folder(tmp_path, pytest.fail) as first,
        work_folder.work_folder(tmp_path, pytest.fail) as second,
    ):
        assert {*tmp_path.iterdir()} == {first, second}
    assert [*tmp_path.iterdir()] == []


def test_folder_of_somebody_else_stays(tmp_path: Path) -> None:
    mine, similar = tmp_path / ".backup-of_mine", tmp_path / ".backup-12345678"
    for folder in (mine, similar):
        folder.mkdir()
        (folder / "photo").write_text("mine")
    with work_folder.work_folder(tmp_path, pytest.fail):
        pass
    assert {path.name for path in tmp_path.rglob("*")} == {mine.name, similar.name, "photo"}


def test_folder_that_cannot_be_locked_is_named_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    lines: list[str] = []
    monkeypatch.setattr(fcntl, "flock", no_locks)
    abandoned = tmp_path / ".backup-12345678"
    abandoned.mkdir()
    with work_folder.work_folder(tmp_path, lines.append) as own:
        assert own.is_dir()
    assert lines == [
        f"{abandoned} may be of a killed backup (Function not implemented). Remove it if no backup is running."
    ]
    assert {path.name for path in tmp_path.iterdir()} == {abandoned.name}
