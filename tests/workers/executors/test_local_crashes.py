"""A process that submits, polls or starts may be killed at any line: the next poll recovers, and no job runs twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV, RUNS_LONG, STAYS_SECONDS, agent, finish
from workers.attempt import Process, owner
from workers.executors import tickets
from workers.executors.base import Spec, Unreachable
from workers.executors.local import Local, job_lifecycle
from workers.executors.local import executor as local
from workers.executors.states import State
from workers.executors.tickets import Ticket, Tickets

Job = Callable[..., Spec]
COUNTS = "open('ran', 'a').write('x')"
COUNTS_AND_STAYS = f"{COUNTS}; import time; time.sleep({STAYS_SECONDS})"


class Killed(BaseException):
    """The simulated death of the process at this line."""


def _dies_at(monkeypatch: pytest.MonkeyPatch, target: object, name: str, *, after: bool) -> None:
    """Let the next call of `target.name` raise Killed, before or after the real call; later calls are real."""
    real = getattr(target, name)

    def die(*args: object, **kwargs: object) -> None:
        monkeypatch.setattr(target, name, real)
        if after:
            real(*args, **kwargs)
        raise Killed

    monkeypatch.setattr(target, name, die)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("target", "name"),
    [(local, "write_spec"), (Tickets, "put"), (job_lifecycle, "start_agent"), (local, "owner"), (Tickets, "open")],
    ids=["write spec", "put ticket", "start agent", "look for claim", "read line"],
)
def test_repeated_submit_after_crash_runs_job_once(
    machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch, target: object, name: str, after: bool
) -> None:
    spec = job("a", COUNTS)
    _dies_at(monkeypatch, target, name, after=after)
    with pytest.raises(Killed):
        machine.submit(spec)
    machine.submit(spec)
    wait_until(lambda: (seen := machine.poll(["a"])["a"]) and seen.state == State.SUCCEEDED, "the job to succeed")
    assert (spec.directory / "ran").read_text() == "x"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("target", "name"),
    [(Tickets, "end"), (tickets, "write_json"), (local, "ending_of")],
    ids=["end", "write", "ending"],
)
def test_half_recorded_end_is_recorded_by_next_poll(
    machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch, target: object, name: str, after: bool
) -> None:
    spec = job("a", COUNTS)
    machine.submit(spec)
    agent_process = owner(spec.directory)
    assert agent_process is not None
    wait_until(lambda: not agent_process.is_alive(), "the agent to end with its job")
    _dies_at(monkeypatch, target, name, after=after)
    with pytest.raises(Killed):
        machine.poll(["a"])
    seen = machine.poll(["a"])["a"]
    assert seen and seen.state == State.SUCCEEDED
    assert list((machine.root / "open").iterdir()) == []


def test_unrecorded_start_is_adopted(machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = job("a", COUNTS_AND_STAYS)
    _dies_at(monkeypatch, job_lifecycle, "start_agent", after=True)
    with pytest.raises(Killed):
        machine.submit(spec)
    first = owner(spec.directory)
    seen = machine.poll(["a"])["a"]
    assert seen and seen.state == State.RUNNING and owner(spec.directory) == first
    wait_until((spec.directory / "ran").exists, "the job to run")
    assert (spec.directory / "ran").read_text() == "x"


def test_concurrent_submits_run_job_once(machine: Local, job: Job) -> None:
    specs = [job(f"job-{n}", COUNTS) for n in range(3)]
    threads = [threading.Thread(target=machine.submit, args=(spec,)) for spec in specs for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [spec.key for spec in specs]
    wait_until(
        lambda: all(seen and seen.state == State.SUCCEEDED for seen in machine.poll(keys).values()),
        "all jobs to succeed",
    )
    assert [(spec.directory / "ran").read_text() for spec in specs] == ["x", "x", "x"]


def test_a_job_outlives_the_process_that_submitted_it(machine: Local, job: Job) -> None:
    spec = job("a", RUNS_LONG)
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom workers.executors.base import Spec\n"
        "from workers.executors.local import Local\nroot, directory, argv = json.loads(sys.argv[1])\n"
        "Local(Path(root), 2, beat_seconds=0.02).submit(Spec('a', Path(directory), tuple(argv)))\n"
        "import os; os.kill(os.getpid(), 9)"
    )
    arguments = json.dumps([str(machine.root), str(spec.directory), list(spec.argv)])
    ended = subprocess.run([sys.executable, "-c", code, arguments], env=ENV, timeout=PATIENCE_SECONDS, check=False)
    assert ended.returncode == -9
    wait_until((spec.directory / "started").exists, "the job to start")
    seen = machine.poll(["a"])["a"]
    assert seen and seen.state == State.RUNNING


def test_an_agent_that_was_killed_is_lost(machine: Local, job: Job) -> None:
    spec = job("a", RUNS_LONG)
    machine.submit(spec)
    process = owner(spec.directory)
    assert process is not None
    process.send(local.signal.SIGKILL)
    wait_until(lambda: not process.is_alive(), "the agent to die of SIGKILL")
    seen = machine.poll(["a"])["a"]
    assert seen and (seen.state, seen.reason) == (State.LOST, "its agent stopped without an exit record")


def test_job_cut_off_by_machine_restart_is_interrupted(
    machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, kill = job("a", RUNS_LONG), local.kill

    def kill_and_wait(ticket: Ticket) -> None:
        kill(ticket)
        wait_until((spec.directory / "exit.json").exists, "the exit record of the job")

    # The agent keeps running, and may report its program's death before the next poll.
    monkeypatch.setattr(local, "kill", kill_and_wait)
    machine.submit(spec)
    # The heartbeat names the program to kill.
    wait_until((spec.directory / "heartbeat.json").exists, "the first heartbeat of the agent")
    queue = Tickets(machine.root)
    ticket = queue.get("a")
    assert ticket is not None and ticket.owner is not None
    agent_process = ticket.owner
    with queue.lock():
        queue.put(replace(ticket, owner=replace(agent_process, boot="the boot before")))
    seen = machine.poll(["a"])["a"]
    assert seen and (seen.state, seen.reason) == (State.INTERRUPTED, "the machine was restarted")
    agent_process.send(local.signal.SIGTERM)


def test_agent_that_cannot_start_is_retried_then_failed(
    machine: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_lifecycle, "START_TRIES", 3)
    spec = job("a", COUNTS)
    spec.directory.mkdir(parents=True)
    (spec.directory / "claim").write_text("a file where the claim should be")
    machine.submit(spec)
    seen = machine.poll(["a"])["a"]
    assert seen and seen.state == State.QUEUED and "did not start (try 2 of 3)" in seen.reason
    seen = machine.poll(["a"])["a"]
    assert seen and seen.state == State.FAILED and "claim" in seen.reason


def test_missing_directory_does_not_block_other_jobs(machine: Local, job: Job, tmp_path: Path) -> None:
    machine.submit(job("holds", RUNS_LONG, cores=2))
    gone = job("gone", COUNTS)
    machine.submit(gone)
    (gone.directory / "spec.json").unlink()
    gone.directory.rmdir()
    machine.cancel("holds", PATIENCE_SECONDS)
    wait_until(
        lambda: (seen := machine.poll(["gone"])["gone"]) and "No such file" in seen.reason,
        "the missing directory to be noticed",
    )


def test_unusable_queue_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "queue").write_text("a file")
    with pytest.raises(Unreachable, match="local queue"):
        Local(tmp_path / "queue", cores=1).poll(["a"])


def test_second_agent_on_same_directory_starts_nothing(machine: Local, job: Job) -> None:
    spec = job("a", COUNTS_AND_STAYS)
    machine.submit(spec)
    wait_until((spec.directory / "ran").exists, "the job to run")
    assert finish(agent(spec.directory))[0] == 64
    assert (spec.directory / "ran").read_text() == "x"


def test_an_unknown_job_is_absent(machine: Local) -> None:
    assert machine.find("unknown") is None
    assert machine.poll(["unknown"]) == {"unknown": None}
    assert Process.recorded(None) is None
