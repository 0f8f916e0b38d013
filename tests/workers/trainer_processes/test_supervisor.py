"""The processes of a training stop together, and none survives another or the one that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.workers.forked import Fork, fork_programs
from workers.attempt import RESUMABLE, Process
from workers.config import RunConfig
from workers.engine_nodes import processes
from workers.trainer_processes import control, supervise, supervisor

GRPO: dict[str, Any] = {"per_device_train_batch_size": 16, "num_generations": 8, "processes_per_node": 2}
CONFIG = {"method": "grpo", "grpo": GRPO, "compute": {"cores": 2}}
SUPERVISES = f"""
import sys
from pathlib import Path
from workers.config import RunConfig
from workers.trainer_processes import supervise
supervise(RunConfig.from_json({CONFIG!r}), ["run.json"], Path.cwd(), sys.executable, lambda: False)
"""


@pytest.fixture(autouse=True)
def scripted_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes of a training be forks that train nothing, and wait shortly for one that is lost."""
    monkeypatch.setattr(supervisor, "PROGRAM", "tests.workers.trainer_processes.scripted_process")
    monkeypatch.setattr(control, "LOST_SECONDS", 0.1)
    fork_programs(monkeypatch, processes)


def supervised(folder: Path, is_stopped: Callable[[], bool], argv: str = "run.json") -> int:
    """Run a training with two processes in a folder. Return its exit code."""
    with contextlib.chdir(folder):
        return supervise(RunConfig.from_json(CONFIG), [argv], folder, sys.executable, is_stopped)


def pids(folder: Path) -> list[int]:
    """Return the pids of the processes that have noted them, in their order."""
    return [int(text.split()[0]) for file in sorted(folder.glob("pid-*")) if (text := file.read_text())]


def test_request_to_stop_reaches_all_processes(tmp_path: Path) -> None:
    assert supervised(tmp_path, lambda: len(pids(tmp_path)) == 2) == RESUMABLE
    assert [(tmp_path / f"end-{rank}").read_text() for rank in (0, 1)] == ["stopped"] * 2
    assert [(tmp_path / f"pid-{rank}").read_text().split()[1] for rank in (0, 1)] == ["run.json"] * 2


@pytest.mark.parametrize("victim", [0, 1])
def test_lost_process_ends_the_other_with_its_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], victim: int
) -> None:
    def kill() -> bool:
        if len(pids(tmp_path)) == 2:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids(tmp_path)[victim], signal.SIGKILL)
        return False

    assert supervised(tmp_path, kill) == supervisor.FAILED
    reason = f"process {victim + 1} of 2 was ended by signal 9 (SIGKILL)"
    assert reason in (tmp_path / f"end-{1 - victim}").read_text()
    assert reason in capfd.readouterr().err
    assert all(Process.at(pid) is None for pid in pids(tmp_path))


def test_failure_of_the_first_process_is_the_reason_of_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert supervised(tmp_path, lambda: False, "fails") == supervisor.FAILED
    assert capfd.readouterr().err.splitlines()[-1] == "no reward today"
    assert (tmp_path / "end-1").read_text() == "no reward today"


def test_killed_supervisor_leaves_no_process(tmp_path: Path) -> None:
    with Fork([sys.executable, "-c", SUPERVISES], cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: len(pids(tmp_path)) == 2, "the processes to start")
            ranks = [Process.at(pid) for pid in pids(tmp_path)]
        finally:
            process.kill()
    for rank in ranks:
        assert rank is not None
        wait_until(lambda rank=rank: not rank.is_alive(), "the processes to end with their supervisor")
