"""A disk that is away for a while costs heartbeats, never the record of how the program ended."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from tests.workers.attempts import attempt, read
from workers import agent


def _watch(directory: Path, code: str) -> agent._Watch:
    class Silent:
        def wait(self, seconds: float) -> bytes:
            return b""

    return agent._Watch(attempt(directory, code), 0, Silent())  # type: ignore[arg-type]


def test_exit_json_is_written_once_the_disk_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes, refusals = agent.write_json, iter(range(3))

    def away_thrice(path: Path, data: Any, *, sync: bool = False) -> None:
        if path.name == "exit.json" and next(refusals, None) is not None:
            raise OSError(errno.EIO, "Input/output error")
        writes(path, data, sync=sync)

    monkeypatch.setattr(agent, "write_json", away_thrice)
    assert _watch(tmp_path, "raise SystemExit(3)").run() == 3
    assert next(refusals, None) is None
    assert read(tmp_path / "exit.json")["code"] == 3


def test_missed_heartbeats_do_not_stop_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = agent.write_json_anyhow

    def no_beats(path: Path, data: Any, *, sync: bool = False) -> None:
        if path.name == "heartbeat.json":
            raise OSError(errno.EIO, "Input/output error")
        writes(path, data, sync=sync)

    monkeypatch.setattr(agent, "write_json_anyhow", no_beats)
    assert _watch(tmp_path, "import time; time.sleep(0.1)").run() == 0
    assert read(tmp_path / "exit.json")["code"] == 0


def test_deleted_directory_ends_agent(tmp_path: Path) -> None:
    # Repeat the removal: a heartbeat written meanwhile keeps the folder from being removed.
    remove = "import os, shutil\nat = os.getcwd()\nwhile os.path.exists(at): shutil.rmtree(at, ignore_errors=True)"
    watch = _watch(tmp_path / "gone", remove)
    with pytest.raises(FileNotFoundError):
        watch.run()
