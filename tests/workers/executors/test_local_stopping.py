"""Cancelling a job, stopping them all, and never touching a stranger."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.workers.attempts import CHECKPOINTS, IGNORES_TERM, RUNS_LONG, read, until
from workers.attempt import Process, lease, owner
from workers.executors.base import Observation, Spec
from workers.executors.local import Local
from workers.executors.states import State
from workers.executors.tickets import Tickets

Job = Callable[..., Spec]


def _seen(machine: Local, key: str) -> Observation:
    seen = machine.poll([key])[key]
    assert seen is not None
    return seen


def _ended(machine: Local, key: str) -> Observation:
    return until(lambda: (seen := _seen(machine, key)).state.is_final and seen)  # type: ignore[no-any-return]


def test_a_waiting_job_leaves_the_line_and_never_starts(machine: Local, job: Job) -> None:
    machine.submit(job("first", RUNS_LONG, cores=2))
    waiting = job("second", RUNS_LONG)
    machine.submit(waiting)
    machine.cancel("second", 1.0)
    seen = _seen(machine, "second")
    assert (seen.state, seen.reason) == (State.CANCELLED, "cancelled while it waited")
    assert lease(waiting.directory) > 0 and not (waiting.directory / "started").exists()


def test_a_running_job_is_asked_and_checkpoints(machine: Local, job: Job) -> None:
    spec = job("a", CHECKPOINTS)
    machine.submit(spec)
    until((spec.directory / "started").exists)
    machine.cancel("a", 30.0)
    machine.cancel("a", 30.0)
    assert _ended(machine, "a").native == "exit 75"
    assert (spec.directory / "checkpoint").read_text() == "SIGTERM"


def test_a_job_that_ignores_sigterm_is_killed_after_its_grace(machine: Local, job: Job) -> None:
    spec = job("a", IGNORES_TERM, grace_seconds=0.2)
    machine.submit(spec)
    until((spec.directory / "started").exists)
    machine.cancel("a", 30.0)
    assert _ended(machine, "a").native == "signal 9"


def test_an_agent_that_hangs_is_killed_with_its_program(machine: Local, job: Job) -> None:
    spec = job("a", IGNORES_TERM)
    machine.submit(spec)
    until(lambda: all((spec.directory / name).exists() for name in ("started", "heartbeat.json")))
    program = Process.recorded(read(spec.directory / "heartbeat.json"))
    machine.cancel("a", 60.0)
    assert _seen(machine, "a").state == State.STOPPING
    machine.cancel("a", 0.0)
    assert _ended(machine, "a").state == State.LOST
    assert program is not None
    until(lambda: not program.is_alive())


def test_cancelling_what_is_unknown_or_ended_does_nothing(machine: Local, job: Job) -> None:
    machine.cancel("unknown", 1.0)
    machine.submit(job("a", "pass"))
    before = _ended(machine, "a")
    machine.cancel("a", 1.0)
    assert _seen(machine, "a") == before


def test_a_foreign_process_with_the_recorded_pid_is_never_signalled(machine: Local, job: Job, tmp_path: Path) -> None:
    spec = job("a", RUNS_LONG)
    machine.submit(spec)
    agent = owner(spec.directory)
    assert agent is not None
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"]) as stranger:
        tickets = Tickets(tmp_path / "queue")
        ticket = tickets.get("a")
        assert ticket is not None
        with tickets.lock():
            tickets.put(replace(ticket, owner=replace(agent, pid=stranger.pid)))
        machine.cancel("a", 0.0)
        machine.cancel("a", 0.0)
        machine.interrupt(0.0)
        assert stranger.poll() is None
        stranger.kill()


def test_stopping_esweb_interrupts_what_runs_and_keeps_the_line(machine: Local, job: Job) -> None:
    polite, stubborn = job("polite", CHECKPOINTS), job("stubborn", IGNORES_TERM, grace_seconds=0.2)
    waiting = job("waiting", RUNS_LONG)
    for spec in (polite, stubborn, waiting):
        machine.submit(spec)
    until(lambda: all((s.directory / "started").exists() for s in (polite, stubborn)))
    assert machine.interrupt(30.0) == ["polite", "stubborn"]
    for key in ("polite", "stubborn"):
        found = machine.find(key)
        assert found and (found.state, found.reason) == (State.INTERRUPTED, "esweb was stopped")
    assert (polite.directory / "checkpoint").exists()
    found = machine.find("waiting")
    assert found and found.state == State.QUEUED
    assert _seen(machine, "waiting").state == State.RUNNING


def test_what_had_ended_by_itself_is_not_called_interrupted(machine: Local, job: Job) -> None:
    spec = job("a", "pass")
    machine.submit(spec)
    until((spec.directory / "exit.json").exists)
    machine.interrupt(1.0)
    found = machine.find("a")
    assert found and found.state == State.SUCCEEDED
