"""Cancelling a job, stopping them all, and never touching a stranger."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import AWAITS_SIGNAL, CHECKPOINTS, HAS_STARTED, IGNORES_TERM, RUNS_LONG, python, read
from workers.attempt import Process, lease, owner
from workers.executors.base import Observation, Spec
from workers.executors.local import Local
from workers.executors.states import State
from workers.executors.tickets import Tickets

Job = Callable[..., Spec]
ON_TERM = f"""
import signal, sys, time
signal.signal(15, lambda *_: sys.exit({{code}}))
{HAS_STARTED}
{AWAITS_SIGNAL}
"""


def _seen(machine: Local, key: str) -> Observation:
    seen = machine.poll([key])[key]
    assert seen is not None
    return seen


def _ended(machine: Local, key: str) -> Observation:
    wait_until(lambda: _seen(machine, key).state.is_final, f"the job {key} to end")
    return _seen(machine, key)


def test_cancelled_waiting_job_never_starts(machine: Local, job: Job) -> None:
    machine.submit(job("first", RUNS_LONG, cores=2))
    waiting = job("second", RUNS_LONG)
    machine.submit(waiting)
    machine.cancel("second", 1.0)
    seen = _seen(machine, "second")
    assert (seen.state, seen.reason) == (State.CANCELLED, "cancelled while it was queued")
    assert lease(waiting.directory) > 0 and not (waiting.directory / "started").exists()


def test_cancelled_running_job_saves_checkpoint(machine: Local, job: Job) -> None:
    spec = job("a", CHECKPOINTS)
    machine.submit(spec)
    wait_until((spec.directory / "started").exists, "the job to start")
    machine.cancel("a", PATIENCE_SECONDS)
    machine.cancel("a", PATIENCE_SECONDS)
    assert _ended(machine, "a").native == "exit 75"
    assert (spec.directory / "checkpoint").read_text() == "SIGTERM"


def test_a_job_that_ignores_sigterm_is_killed_after_its_grace(machine: Local, job: Job) -> None:
    spec = job("a", IGNORES_TERM, grace_seconds=0.2)
    machine.submit(spec)
    wait_until((spec.directory / "started").exists, "the job to start")
    machine.cancel("a", PATIENCE_SECONDS)
    assert _ended(machine, "a").native == "signal 9"


def test_an_agent_that_hangs_is_killed_with_its_program(machine: Local, job: Job) -> None:
    spec = job("a", IGNORES_TERM)
    machine.submit(spec)
    wait_until((spec.directory / "started").exists, "the job to start")
    wait_until((spec.directory / "heartbeat.json").exists, "the first heartbeat of the agent")
    program = Process.recorded(read(spec.directory / "heartbeat.json"))
    machine.cancel("a", PATIENCE_SECONDS)
    assert _seen(machine, "a").state == State.STOPPING
    machine.cancel("a", 0.0)
    assert _ended(machine, "a").state == State.LOST
    assert program is not None
    wait_until(lambda: not program.is_alive(), "the program to die with its agent")


def test_cancel_of_unknown_or_ended_job_does_nothing(machine: Local, job: Job) -> None:
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
    with subprocess.Popen(python(RUNS_LONG), cwd=tmp_path) as stranger:
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


def test_interrupt_stops_running_jobs_and_keeps_queue(machine: Local, job: Job) -> None:
    polite, stubborn = job("polite", CHECKPOINTS), job("stubborn", IGNORES_TERM, grace_seconds=0.2)
    waiting = job("waiting", RUNS_LONG)
    for spec in (polite, stubborn, waiting):
        machine.submit(spec)
    for spec in (polite, stubborn):
        wait_until((spec.directory / "started").exists, f"the job {spec.key} to start")
    assert machine.interrupt(PATIENCE_SECONDS) == ["polite", "stubborn"]
    for key in ("polite", "stubborn"):
        observation = machine.find(key)
        assert observation and (observation.state, observation.reason) == (State.INTERRUPTED, "esweb was stopped")
    assert (polite.directory / "checkpoint").exists()
    observation = machine.find("waiting")
    assert observation and observation.state == State.QUEUED
    assert _seen(machine, "waiting").state == State.RUNNING


def test_ended_job_is_not_interrupted(machine: Local, job: Job) -> None:
    spec = job("a", "pass")
    machine.submit(spec)
    wait_until((spec.directory / "exit.json").exists, "the exit record of the job")
    machine.interrupt(1.0)
    observation = machine.find("a")
    assert observation and observation.state == State.SUCCEEDED


def test_done_or_failed_program_is_not_interrupted_by_the_stop(machine: Local, job: Job) -> None:
    specs = {code: job(f"ends-{code}", ON_TERM.format(code=code)) for code in (0, 74)}
    for spec in specs.values():
        machine.submit(spec)
    for spec in specs.values():
        wait_until((spec.directory / "started").exists, f"the job {spec.key} to start")
    machine.interrupt(PATIENCE_SECONDS)
    seen = [machine.find(f"ends-{code}") for code in (0, 74)]
    assert [one and (one.state, one.native) for one in seen] == [
        (State.SUCCEEDED, "exit 0"),
        (State.FAILED, "exit 74"),
    ]


def test_job_whose_agent_was_stopped_with_the_site_is_interrupted(machine: Local, job: Job) -> None:
    stopped, signalled = job("stopped", CHECKPOINTS), job("signalled", CHECKPOINTS)
    # Both are submitted first: a submit also records the ends of other jobs.
    for spec in (stopped, signalled):
        machine.submit(spec)
        wait_until((spec.directory / "started").exists, f"the job {spec.key} to start")
    for spec, number in ((stopped, signal.SIGTERM), (signalled, signal.SIGUSR1)):
        agent = owner(spec.directory)
        assert agent is not None
        agent.send(number)
        wait_until((spec.directory / "exit.json").exists, f"the exit record of {spec.key}")
    assert machine.interrupt(PATIENCE_SECONDS, "esweb was stopped by SIGTERM") == ["stopped"]
    seen, other = machine.find("stopped"), machine.find("signalled")
    assert seen and (seen.state, seen.reason) == (State.INTERRUPTED, "esweb was stopped by SIGTERM")
    assert other and other.native == "exit 75"


def test_resumed_job_goes_before_waiting_ones(machine: Local, job: Job) -> None:
    machine.submit(job("running", CHECKPOINTS, cores=2))
    machine.submit(job("waiting", RUNS_LONG))
    machine.submit(replace(job("resumed", RUNS_LONG), goes_first=True))
    seen = [_seen(machine, key).reason.partition("; ")[2] for key in ("waiting", "resumed")]
    assert seen == ["1 ahead in the queue", ""]
