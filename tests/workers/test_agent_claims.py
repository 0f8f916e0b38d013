"""A program runs once: claims, leases and what happens when an agent is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV, IGNORES_TERM, RUNS_LONG, agent, attempt, finish, read
from workers.agent import claim
from workers.attempt import CLOSED_EPOCH, Process, lease, owner, raise_lease


def test_one_of_several_agents_runs_the_program(tmp_path: Path) -> None:
    attempt(tmp_path, "open('ran', 'a').write('x'); import time; time.sleep(0.2)")
    codes = sorted(finish(process)[0] for process in [agent(tmp_path) for _ in range(4)])
    assert codes == [0, 64, 64, 64]
    assert (tmp_path / "ran").read_text() == "x"


def test_second_agent_reports_first_owner(tmp_path: Path) -> None:
    first = agent(attempt(tmp_path, RUNS_LONG))
    wait_until((tmp_path / "started").exists, "the program to start")
    code, errors = finish(agent(tmp_path))
    assert code == 64 and f"already claimed by process {first.pid}" in errors
    first.terminate()
    finish(first)


def test_an_attempt_that_has_ended_does_not_run_again(tmp_path: Path) -> None:
    attempt(tmp_path, "open('ran', 'a').write('x')")
    assert [finish(agent(tmp_path))[0] for _ in range(2)] == [0, 64]
    assert (tmp_path / "ran").read_text() == "x"


def test_a_closed_lease_starts_nothing(tmp_path: Path) -> None:
    raise_lease(attempt(tmp_path, RUNS_LONG), CLOSED_EPOCH)
    assert finish(agent(tmp_path))[0] == 76
    assert not (tmp_path / "started").exists() and not (tmp_path / "exit.json").exists()


def test_restart_fences_earlier_agent_within_a_heartbeat(tmp_path: Path) -> None:
    first = agent(attempt(tmp_path, IGNORES_TERM, grace_seconds=0.2))
    wait_until((tmp_path / "started").exists, "the program to start")
    wait_until((tmp_path / "heartbeat.json").exists, "the first heartbeat of the agent")
    program = Process.recorded(read(tmp_path / "heartbeat.json"))
    second = agent(tmp_path, "--epoch", "1")
    code, errors = finish(first)
    assert code == 76 and "killed" in errors
    assert program is not None and not program.is_alive()
    wait_until(lambda: read(tmp_path / "heartbeat.json")["epoch"] == 1, "a heartbeat of the second agent")
    second.terminate()
    finish(second)
    assert read(tmp_path / "exit.json")["epoch"] == 1


def test_a_lease_is_never_lowered(tmp_path: Path) -> None:
    raise_lease(tmp_path, 3)
    raise_lease(tmp_path, 1)
    assert lease(tmp_path) == 3


def test_the_program_dies_with_its_agent(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, IGNORES_TERM))
    wait_until((tmp_path / "started").exists, "the program to start")
    wait_until((tmp_path / "heartbeat.json").exists, "the first heartbeat of the agent")
    program = Process.recorded(read(tmp_path / "heartbeat.json"))
    assert program is not None and program.is_alive()
    process.kill()
    finish(process)
    wait_until(lambda: not program.is_alive(), "the program to die with its agent")
    assert not (tmp_path / "exit.json").exists()


def test_agent_sends_heartbeats_while_program_runs(tmp_path: Path) -> None:
    process = agent(attempt(tmp_path, RUNS_LONG))
    wait_until((tmp_path / "heartbeat.json").exists, "the first heartbeat of the agent")
    first = read(tmp_path / "heartbeat.json")["n"]
    wait_until(lambda: read(tmp_path / "heartbeat.json")["n"] > first, "a second heartbeat")
    process.send_signal(signal.SIGTERM)
    finish(process)


def test_detached_agent_runs_in_its_own_session(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "workers.agent", str(attempt(tmp_path, RUNS_LONG)), "--detach"]
    subprocess.run(argv, env=ENV, stderr=subprocess.DEVNULL, check=True, timeout=PATIENCE_SECONDS)
    process = owner(tmp_path)
    assert process is not None and process.is_alive()
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    process.send(signal.SIGTERM)
    wait_until(lambda: not process.is_alive(), "the agent to end after SIGTERM")
    assert read(tmp_path / "exit.json")["stopped"]


def test_claim_always_has_an_owner(tmp_path: Path) -> None:
    assert claim(tmp_path, 0) is None
    again = claim(tmp_path, 0)
    assert again is not None and again.pid == os.getpid()
    assert [p.name for p in tmp_path.iterdir()] == ["claim"]
