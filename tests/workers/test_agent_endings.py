"""The end of a program is recorded in exit.json."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from threading import Event

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import CHECKPOINTS, IGNORES_TERM, RUNS_LONG, STAYS_SECONDS, agent, attempt, finish, read
from workers.agent import _Watch
from workers.attempt import Process


class NoSignals:
    """A mailbox in which no signal arrives."""

    def wait(self, seconds: float) -> bytes:
        Event().wait(max(0.0, seconds))
        return b""


class StartsBeforeItsLimit(_Watch):
    """An agent that looks at the clock once its program ignores SIGTERM, however long that takes."""

    def _start(self) -> subprocess.Popen[bytes]:
        program = super()._start()
        wait_until((self.directory / "started").exists, "the program to start")
        return program


@pytest.mark.parametrize("code", [0, 1, 2, 75])
def test_agent_returns_exit_code_of_program(tmp_path: Path, code: int) -> None:
    ended, _ = finish(agent(attempt(tmp_path, f"print('said so'); raise SystemExit({code})")))
    ending = read(tmp_path / "exit.json")
    assert (ended, ending["code"], ending["signal"]) == (code, code, None)
    assert not ending["stopped"] and not ending["timed_out"]
    assert 0 <= ending["ended_at"] - ending["started_at"] < PATIENCE_SECONDS
    assert "said so" in (tmp_path / "log.txt").read_text()


def test_a_program_killed_by_a_signal_is_recorded_with_it(tmp_path: Path) -> None:
    ended, _ = finish(agent(attempt(tmp_path, "import os; os.kill(os.getpid(), 9)")))
    ending = read(tmp_path / "exit.json")
    assert (ended, ending["code"], ending["signal"]) == (137, None, 9)


def test_missing_program_is_exit_code_127(tmp_path: Path) -> None:
    ended, errors = finish(agent(attempt(tmp_path, "", argv=["/no/such/program"])))
    assert (ended, read(tmp_path / "exit.json")["code"]) == (127, 127)
    assert "/no/such/program" in errors


def test_a_directory_without_a_job_is_refused_unclaimed(tmp_path: Path) -> None:
    ended, errors = finish(agent(tmp_path))
    assert ended == 2 and "spec.json" in errors
    assert not (tmp_path / "claim").exists()


def test_sigterm_is_passed_on_and_the_program_checkpoints(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, CHECKPOINTS))
    wait_until((tmp_path / "started").exists, "the program to start")
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 75
    assert (tmp_path / "checkpoint").read_text() == "SIGTERM"
    assert read(tmp_path / "exit.json")["stopped"]


def test_sigusr1_is_passed_on_and_is_no_stop(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, CHECKPOINTS))
    wait_until((tmp_path / "started").exists, "the program to start")
    process.send_signal(signal.SIGUSR1)
    assert finish(process)[0] == 75
    assert (tmp_path / "checkpoint").read_text() == "SIGUSR1"
    assert not read(tmp_path / "exit.json")["stopped"]


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, IGNORES_TERM, grace_seconds=0.2))
    wait_until((tmp_path / "started").exists, "the program to start")
    process.send_signal(signal.SIGTERM)
    finish(process)
    ending = read(tmp_path / "exit.json")
    assert ending["signal"] == 9 and ending["stopped"] and not ending["timed_out"]


def test_time_limit_stops_program(tmp_path: Path) -> None:
    finish(agent(attempt(tmp_path, RUNS_LONG, time_limit_seconds=0.1)))
    ending = read(tmp_path / "exit.json")
    assert ending["timed_out"] and not ending["stopped"] and ending["signal"] == 15


def test_a_program_that_ignores_its_time_limit_is_killed(tmp_path: Path) -> None:
    attempt(tmp_path, IGNORES_TERM, time_limit_seconds=0.1, grace_seconds=0.2)
    StartsBeforeItsLimit(tmp_path, 0, NoSignals()).run()  # type: ignore[arg-type]
    ending = read(tmp_path / "exit.json")
    assert ending["timed_out"] and ending["signal"] == 9


def test_child_left_by_program_is_killed(tmp_path: Path) -> None:
    leaves_a_child = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep({STAYS_SECONDS})'])\n"
        "open('child', 'w').write(str(child.pid))"
    )
    finish(agent(attempt(tmp_path, leaves_a_child)))
    pid = int((tmp_path / "child").read_text())
    wait_until(lambda: Process.at(pid) is None, "the child that the program left to be killed")


def test_the_program_gets_the_environment_of_its_job(tmp_path: Path) -> None:
    code = "import os; print(os.environ['ESWEB_CACHE'], os.getcwd())"
    finish(agent(attempt(tmp_path, code, env={"ESWEB_CACHE": "/the/cache"})))
    assert f"/the/cache {tmp_path}" in (tmp_path / "log.txt").read_text()
