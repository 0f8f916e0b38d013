"""Jobs that are cancelled, preempted, lost with their node or forgotten by Slurm, and what follows."""

from __future__ import annotations

import html
import os
import signal
from dataclasses import replace

import pytest
from django.test import Client

from runs import launching
from runs.ingest import Follower
from runs.launching.submit import spec_of
from runs.models import Experiment, Origin, Run
from tests.clusters.far_slurm import BUSY, OVER_SSH, Far, await_end, be_patient, run_far, started, there, tick_far
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import CHECKPOINTS, IGNORES_TERM, read
from workers.attempt import CLOSED_EPOCH, Process, lease, owner
from workers.executors.slurm import Site
from workers.executors.states import State

SAVES = """
import json, os, signal, sys, time
def stop(number, frame):
    signal.signal(number, signal.SIG_IGN)
    os.makedirs('checkpoints/step-000005')
    open('checkpoints/step-000005/model.safetensors', 'w').write('www')
    said = {'kind': 'checkpoint', 'step': 5, 'path': 'checkpoints/step-000005', 'bytes': 3, 'sha256': 'ab' * 32}
    open('records.0.jsonl', 'a').write(json.dumps({'seq': 0, 't': time.time(), **said}) + chr(10))
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
open('started', 'a').write('x')
time.sleep(1200)
"""
"""Leaves a checkpoint of step 5 where it is told to stop, as a training does. It is told twice: by its agent, and by a
Slurm that signals every process of a job."""


def program_of(run: Run) -> Process:
    """The process that the agent has started."""
    beat = there(attempt_of(run)) / "heartbeat.json"
    wait_until(beat.exists, "the first heartbeat")
    program = Process.recorded(read(beat))
    assert program is not None
    return program


@OVER_SSH
def test_a_running_job_saves_a_checkpoint_when_it_is_cancelled(experiment: Experiment, far: Far) -> None:
    far.program = CHECKPOINTS
    run = run_far(experiment)
    started(run)
    launching.request_cancel(run, experiment.owner)
    ended = tick_until(run, "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (there(ended) / "checkpoint").read_text() == "SIGTERM"


def test_a_waiting_job_says_why_on_its_page_and_leaves_the_queue(
    experiment: Experiment, far: Far, slurm: SlurmCluster, ada_client: Client
) -> None:
    far.program = BUSY
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    try:
        run = run_far(experiment)
        # Slurm has two reasons for this, and takes either.
        waiting = tick_until_true(run, "Slurm to name the drained nodes", lambda a: "down, drained" in a.reason)
        assert waiting.state == State.QUEUED.value
        assert waiting.reason.startswith("waiting: nodes that it needs are down, drained or reserved")
        assert waiting.reason in html.unescape(ada_client.get(run.get_absolute_url()).content.decode())
        launching.request_cancel(run)
        ended = tick_until(run, "cancelled")
    finally:
        slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=RESUME")
    assert not (there(ended) / "started").exists()


def test_an_agent_that_hears_nothing_is_ended_after_the_grace(
    experiment: Experiment, far: Far, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(grace=0.2, settle=PATIENCE_SECONDS)
    monkeypatch.setattr("runs.launching.cancel.KILL_SECONDS", 0.2)
    far.program = IGNORES_TERM
    run = run_far(experiment)
    agent = owner(there(started(run)))
    program = program_of(run)
    assert agent is not None
    agent.send(signal.SIGSTOP)
    launching.request_cancel(run)
    assert tick_until(run, "cancelled", "failed").state == State.CANCELLED.value
    wait_until(lambda: not program.is_alive() and not agent.is_alive(), "agent and program to end", details=slurm.told)


@OVER_SSH
def test_a_preempted_run_goes_on_and_its_budget_is_whole(experiment: Experiment, far: Far, slurm: SlurmCluster) -> None:
    far.program = SAVES
    far.site = replace(far.site, partition="low")
    # What Slurm says of the end is what this is about, however late it comes; and so is what is read of its checkpoint.
    be_patient(settle=PATIENCE_SECONDS, records=PATIENCE_SECONDS)
    run = run_far(experiment, restarts=1)
    started(run)
    pushing = ("--exclusive", "-N3", "-p", "high", "-o", "/dev/null", "--wrap", "sleep 1")
    slurm.ask("sbatch", "--job-name=important", *pushing)
    wait_until((there(attempt_of(run)) / "exit.json").exists, "the preempted program to end", details=slurm.told)
    follower = Follower()

    def has_gone_on() -> bool:
        follower.look()
        return tick_far(run).n == 2

    wait_until(has_gone_on, "attempt 2 to follow the preempted one", details=slurm.told)
    first, second = run.attempts.order_by("n")
    assert first.state == State.PREEMPTED.value and first.reason.startswith("preempted: Slurm gave its place")
    assert (second.resumed_attempt, second.resumed_step) == (1, 5)
    assert spec_of(second).argv[-2:] == ("--resume", f"../{first.key}/checkpoints/step-000005")
    assert second.origin == Origin.PREEMPTION and launching.restarts_made(run) == 0
    assert started(run).n == 2


@OVER_SSH
def test_a_lost_node_is_fenced_before_the_next_attempt(experiment: Experiment, far: Far, slurm: SlurmCluster) -> None:
    far.program = BUSY
    be_patient(exit_record=0.1, records=0.0)
    run = run_far(experiment, restarts=1)
    first = started(run)
    program = program_of(run)
    node = slurm.ask("squeue", "-h", "-n", first.key, "-o", "%N").strip()
    slurm.lose_node(int(node[1:]))
    second = tick_until_true(run, "attempt 2 to follow the lost node's", lambda a: a.n == 2)
    first.refresh_from_db()
    assert first.state == State.NODE_LOST.value and f"its node {node} failed" in first.reason
    wait_until(lambda: not program.is_alive(), "the program of attempt 1 to end")
    assert second.origin == Origin.RESTART
    log = there(first) / "slurm.log"
    wait_until(
        lambda: "epoch 0 is over; the program was killed" in log.read_text(),
        "the agent to log that its epoch is over",
        details=log.read_text,
    )


def test_a_job_that_slurm_has_forgotten_is_lost_and_a_stranger_with_its_number_lives(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    far.program = BUSY
    # Slurm counts its jobs from 1 again each time.
    slurm.forget_jobs()
    slurm.mend()
    run = run_far(experiment)
    first = started(run)
    agent = owner(there(first))
    assert agent is not None
    slurm.forget_jobs()
    # On hold: a node on which the first job still runs would refuse another of its number.
    number = slurm.ask("sbatch", "--hold", "--parsable", "-o", "/dev/null", "--wrap", "sleep 600").strip()
    assert number == first.native_id
    lost = tick_until(run, "lost", "failed", "cancelled")
    assert lost.state == State.LOST.value and lost.reason.startswith("far has not known it for 1 s")
    wait_until(lambda: not agent.is_alive(), "the agent to end")
    far.cancel(first.key, 0.0)
    assert slurm.ask("squeue", "-h", "-j", number, "-o", "%T").strip() == "PENDING"


def test_a_job_that_slurm_starts_again_runs_once_and_is_lost(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    far.program = BUSY
    be_patient(settle=PATIENCE_SECONDS)
    run = run_far(experiment)
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    tick_until(run, "queued")
    slurm.save_state()
    slurm.resume_nodes()
    first = started(run)
    slurm.go_back()
    slurm.resume_nodes()
    ended = tick_until(run, "lost", "failed", "cancelled", "node_lost")
    assert ended.state == State.LOST.value and ended.reason.startswith("far forgot that it ran and started it again")
    assert (there(first) / "started").read_text() == "x" and lease(there(first)) == CLOSED_EPOCH


def test_a_killed_agent_takes_its_program_with_it(experiment: Experiment, far: Far) -> None:
    far.program = BUSY
    run = run_far(experiment)
    agent, program = owner(there(started(run))), program_of(run)
    assert agent is not None
    os.kill(agent.pid, signal.SIGKILL)
    ended = tick_until(run, "failed", "lost", "succeeded")
    assert ended.state == State.FAILED.value and ended.reason.startswith("Slurm: FAILED")
    wait_until(lambda: not program.is_alive(), "the program to end")


def test_a_warning_of_slurm_reaches_the_program(experiment: Experiment, far: Far, slurm: SlurmCluster) -> None:
    far.program = CHECKPOINTS
    run = run_far(experiment)
    key = started(run).key
    slurm.ask("scancel", "--signal=USR1", "--batch", f"--name={key}")
    ended = tick_until(run, "interrupted", "failed", "succeeded")
    assert (ended.state, ended.exit_code) == (State.INTERRUPTED.value, 75)
    assert (there(ended) / "checkpoint").read_text() == "SIGUSR1"


def test_slurms_own_time_limit_is_a_timeout(experiment: Experiment, far: Far, slurm: SlurmCluster) -> None:
    far.program = "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN); " + IGNORES_TERM
    be_patient(grace=1.0, settle=PATIENCE_SECONDS)
    far.site = Site(time_limit_seconds=60)
    run = run_far(experiment)
    running = started(run)
    # The end of the minute, brought near.
    slurm.ask("scontrol", "update", f"JobId={running.native_id}", "EndTime=now+1")
    ended = await_end(run, "timeout", "failed", "interrupted")
    assert ended.state == State.TIMEOUT.value and ended.reason.startswith("reached the time limit that Slurm gave it")


def test_what_will_never_start_is_given_up_and_not_tried_again(
    experiment: Experiment, far: Far, slurm: SlurmCluster
) -> None:
    be_patient(never=0.5)
    far.site = Site(partition="short", time_limit_seconds=7200)
    run = run_far(experiment, restarts=3)
    ended = tick_until(run, "failed", "succeeded")
    # Slurm finds one reason or another first: too much time, or no such node.
    assert ended.reason.startswith("given up after 0.5 s: will not start: ") and "(Slurm: Partition" in ended.reason
    assert ended.n == 1 and ended.restart_at is None
    assert not slurm.ask("squeue", "-h", "-n", ended.key, "-t", "PD,R", "-o", "%i")
