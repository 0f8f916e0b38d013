"""Processes known for good, and files that are whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import RUNS_LONG, python
from workers import attempt
from workers.attempt import Process, read_json, write_json


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that does nothing."""
    with subprocess.Popen(python(RUNS_LONG), cwd=tmp_path) as process:
        yield process
        process.kill()


def test_foreign_process_with_recorded_pid_is_never_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    now = Process.at(sleeper.pid)
    assert now is not None and now.is_alive()
    for other in (replace(now, started="1"), replace(now, boot="another")):
        assert not other.is_alive()
        other.send(signal.SIGKILL)
    assert sleeper.poll() is None
    now.send(signal.SIGKILL)
    assert sleeper.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    process = Process.at(sleeper.pid)
    assert process is not None
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not process.is_alive()
    process.send(signal.SIGTERM)


def test_process_is_identified_by_ps_without_proc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    monkeypatch.setattr(attempt, "BOOT_ID", tmp_path / "none")
    monkeypatch.delattr(os, "pidfd_open")
    process = Process.at(sleeper.pid)
    assert process is not None and process.started and process.is_alive() and process.is_of_this_boot()
    replace(process, started="Mon Jan 1 00:00:00 2001").send(signal.SIGKILL)
    assert sleeper.poll() is None
    process.send(signal.SIGKILL)
    sleeper.wait(PATIENCE_SECONDS)
    assert not process.is_alive()


def test_unused_pid_has_no_process() -> None:
    assert Process.at(2**22 + 1) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '"text"'])
def test_json_that_is_no_object_reads_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text)
    assert read_json(tmp_path / "file.json") is None
    assert read_json(tmp_path / "missing.json") is None


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"n": 1}, sync=True)
    with pytest.raises(TypeError):
        write_json(tmp_path / "file.json", {"n": object()})
    assert read_json(tmp_path / "file.json") == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]
