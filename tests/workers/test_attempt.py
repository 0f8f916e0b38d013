"""Processes known for good, and files that are whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.attempts import PATIENCE_SECONDS
from workers import attempt
from workers.attempt import Process, read_json, write_json


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"])


def test_a_stranger_with_the_recorded_pid_is_not_alive_and_is_never_signalled() -> None:
    with _sleeper() as stranger:
        now = Process.at(stranger.pid)
        assert now is not None and now.is_alive()
        for other in (replace(now, started="1"), replace(now, boot="another")):
            assert not other.is_alive()
            other.send(signal.SIGKILL)
        assert stranger.poll() is None
        now.send(signal.SIGKILL)
        assert stranger.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_a_zombie_is_dead() -> None:
    with _sleeper() as child:
        who = Process.at(child.pid)
        assert who is not None
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not who.is_alive()
        who.send(signal.SIGTERM)


def test_without_proc_ps_knows_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(attempt, "BOOT_ID", tmp_path / "none")
    monkeypatch.delattr(os, "pidfd_open")
    with _sleeper() as child:
        who = Process.at(child.pid)
        assert who is not None and who.started and who.is_alive() and who.is_of_this_boot()
        replace(who, started="Mon Jan 1 00:00:00 2001").send(signal.SIGKILL)
        assert child.poll() is None
        who.send(signal.SIGKILL)
        child.wait(PATIENCE_SECONDS)
        assert not who.is_alive()


def test_a_pid_that_nobody_has_is_nobody() -> None:
    assert Process.at(2**22 + 1) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '"text"'])
def test_what_is_no_object_reads_as_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text)
    assert read_json(tmp_path / "file.json") is None
    assert read_json(tmp_path / "missing.json") is None


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"n": 1}, sync=True)
    with pytest.raises(TypeError):
        write_json(tmp_path / "file.json", {"n": object()})
    assert read_json(tmp_path / "file.json") == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]
