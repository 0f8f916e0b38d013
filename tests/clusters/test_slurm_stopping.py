"""Jobs that are cancelled, preempted, lost with their node or forgotten by Slurm, and the consequences."""

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
from tests.clusters.scripted_slurm import (
    BUSY,
    OVER_SSH,
    ScriptedSlurm,
    cluster_directory,
    launch_run,
    set_timeouts,
    tick_run,
    wait_until_ended,
    wait_until_started,
)
from tests.clusters.slurm import SlurmCluster
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import AWAITS_SIGNAL, CHECKPOINTS, HAS_STARTED, IGNORES_TERM, read
from workers.attempt import CLOSED_EPOCH, Process, lease, owner
from workers.executors.slurm import Site
from workers.executors.states import State

pytestmark = pytest.mark.soak

SAVES = (
    """
import json, os, signal, sys, time
def stop(number, frame):
    signal.signal(number, signal.SIG_IGN)
    os.makedirs('checkpoints/step-000005')
    open('checkpoints/step-000005/model.safetensors', 'w').write('www')
    said = {'kind': 'checkpoint', 'step': 5, 'path': 'checkpoints/step-000005', 'bytes': 3, 'sha256': 'ab' * 32}
    open('records.0.jsonl', 'a').write(json.dumps({'seq': 0, 't': time.time(), **said}) + chr(10))
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
"""
    + f"{HAS_STARTED}\n{AWAITS_SIGNAL}"
)
"""A program that saves a checkpoint of step 5 when it is signalled to stop, as a training does.

It gets two signals: one of its agent, and one of a Slurm that signals every process of a job.
"""


def wait_for_program(run: Run) -> Process:
    """Return the process that the agent has started."""
    heartbeat = cluster_directory(attempt_of(run)) / "heartbeat.json"
    wait_until(heartbeat.exists, "the first heartbeat")
    program = Process.recorded(read(heartbeat))
    assert program is not None
    return program


@OVER_SSH
def test_cancelled_job_saves_checkpoint(experiment: Experiment, slurm_executor: ScriptedSlurm) -> None:
    slurm_executor.program = CHECKPOINTS
    run = launch_run(experiment)
    wait_until_started(run)
    launching.request_cancel(run, experiment.owner)
    ended = tick_until(run, "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (cluster_directory(ended) / "checkpoint").read_text() == "SIGTERM"


def test_waiting_job_shows_reason_and_is_cancelled(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, ada_client: Client
) -> None:
    slurm_executor.program = BUSY
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    try:
        run = launch_run(experiment)
        # Slurm has two reasons for this, and takes either.
        waiting = tick_until_true(run, "Slurm to name the drained nodes", lambda a: "down, drained" in a.reason)
        assert waiting.state == State.QUEUED.value
        assert waiting.reason.startswith("waiting: nodes that it needs are down, drained or reserved")
        assert waiting.reason in html.unescape(ada_client.get(run.get_absolute_url()).content.decode())
        launching.request_cancel(run)
        ended = tick_until(run, "cancelled")
    finally:
        slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=RESUME")
    assert not (cluster_directory(ended) / "started").exists()


def test_frozen_agent_is_killed_after_grace(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_timeouts(grace=0.2, settle=PATIENCE_SECONDS)
    monkeypatch.setattr("runs.launching.cancel.KILL_SECONDS", 0.2)
    slurm_executor.program = IGNORES_TERM
    run = launch_run(experiment)
    agent = owner(cluster_directory(wait_until_started(run)))
    program = wait_for_program(run)
    assert agent is not None
    agent.send(signal.SIGSTOP)
    launching.request_cancel(run)
    assert tick_until(run, "cancelled", "failed").state == State.CANCELLED.value
    wait_until(
        lambda: not program.is_alive() and not agent.is_alive(), "agent and program to end", details=slurm.describe
    )


@OVER_SSH
def test_preempted_run_resumes_without_using_restarts(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = SAVES
    slurm_executor.site = replace(slurm_executor.site, partition="low")
    # The test is about Slurm's report of the end and about the checkpoint's record, however late they come.
    set_timeouts(settle=PATIENCE_SECONDS, records=PATIENCE_SECONDS)
    run = launch_run(experiment, restarts=1)
    wait_until_started(run)
    options = ("--exclusive", "-N3", "-p", "high", "-o", "/dev/null", "--wrap", "sleep 1")
    slurm.ask("sbatch", "--job-name=important", *options)
    wait_until(
        (cluster_directory(attempt_of(run)) / "exit.json").exists,
        "the preempted program to end",
        details=slurm.describe,
    )
    follower = Follower()

    def is_resumed() -> bool:
        follower.look()
        return tick_run(run).n == 2

    wait_until(is_resumed, "attempt 2 to follow the preempted one", details=slurm.describe)
    first, second = run.attempts.order_by("n")
    assert first.state == State.PREEMPTED.value and first.reason.startswith("preempted: Slurm stopped it")
    assert (second.resumed_attempt, second.resumed_step) == (1, 5)
    assert spec_of(second).argv[-2:] == ("--resume", f"../{first.key}/checkpoints/step-000005")
    assert second.origin == Origin.PREEMPTION and launching.count_restarts(run) == 0
    assert wait_until_started(run).n == 2


@OVER_SSH
def test_lost_node_is_fenced_before_next_attempt(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = BUSY
    set_timeouts(exit_record=0.1, records=0.0)
    run = launch_run(experiment, restarts=1)
    first = wait_until_started(run)
    program = wait_for_program(run)
    node = slurm.ask("squeue", "-h", "-n", first.key, "-o", "%N").strip()
    slurm.lose_node(int(node[1:]))
    second = tick_until_true(run, "attempt 2 to follow the lost node's", lambda a: a.n == 2)
    first.refresh_from_db()
    assert first.state == State.NODE_LOST.value and f"its node {node} failed" in first.reason
    wait_until(lambda: not program.is_alive(), "the program of attempt 1 to end")
    assert second.origin == Origin.RESTART
    log = cluster_directory(first) / "slurm.log"
    wait_until(
        lambda: "epoch 0 is over; the program was killed" in log.read_text(),
        "the agent to log that its epoch is over",
        details=log.read_text,
    )


def test_forgotten_job_is_lost_and_reused_number_survives(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = BUSY
    # Slurm counts its jobs from 1 again each time.
    slurm.forget_jobs()
    slurm.repair()
    run = launch_run(experiment)
    first = wait_until_started(run)
    agent = owner(cluster_directory(first))
    assert agent is not None
    slurm.forget_jobs()
    # The job is on hold: a node on which the first job still runs would refuse another of its number.
    number = slurm.ask("sbatch", "--hold", "--parsable", "-o", "/dev/null", "--wrap", "sleep 600").strip()
    assert number == first.native_id
    lost = tick_until(run, "lost", "failed", "cancelled")
    assert lost.state == State.LOST.value and lost.reason.startswith("far has reported no such job for 1 s")
    wait_until(lambda: not agent.is_alive(), "the agent to end")
    slurm_executor.cancel(first.key, 0.0)
    assert slurm.ask("squeue", "-h", "-j", number, "-o", "%T").strip() == "PENDING"


def test_restarted_job_runs_once_and_is_lost(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = BUSY
    set_timeouts(settle=PATIENCE_SECONDS)
    run = launch_run(experiment)
    slurm.ask("scontrol", "update", "NodeName=n[1-3]", "State=DRAIN", "Reason=test")
    tick_until(run, "queued")
    slurm.save_state()
    slurm.resume_nodes()
    first = wait_until_started(run)
    slurm.restore_state()
    slurm.resume_nodes()
    ended = tick_until(run, "lost", "failed", "cancelled", "node_lost")
    assert ended.state == State.LOST.value and ended.reason.startswith(
        "far lost its record of the job and started it again"
    ), ended.reason
    assert (cluster_directory(first) / "started").read_text() == "x" and lease(cluster_directory(first)) == CLOSED_EPOCH


def test_killed_agent_ends_its_program(experiment: Experiment, slurm_executor: ScriptedSlurm) -> None:
    slurm_executor.program = BUSY
    run = launch_run(experiment)
    agent, program = owner(cluster_directory(wait_until_started(run))), wait_for_program(run)
    assert agent is not None
    os.kill(agent.pid, signal.SIGKILL)
    ended = tick_until(run, "failed", "lost", "succeeded")
    assert ended.state == State.FAILED.value and ended.reason.startswith("Slurm: FAILED")
    wait_until(lambda: not program.is_alive(), "the program to end")


def test_slurm_signal_reaches_program(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = CHECKPOINTS
    run = launch_run(experiment)
    key = wait_until_started(run).key
    slurm.ask("scancel", "--signal=USR1", "--batch", f"--name={key}")
    ended = tick_until(run, "interrupted", "failed", "succeeded")
    assert (ended.state, ended.exit_code) == (State.INTERRUPTED.value, 75)
    assert (cluster_directory(ended) / "checkpoint").read_text() == "SIGUSR1"


def test_slurm_time_limit_is_timeout(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    slurm_executor.program = "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN); " + IGNORES_TERM
    set_timeouts(grace=1.0, settle=PATIENCE_SECONDS)
    slurm_executor.site = Site(time_limit_seconds=60)
    run = launch_run(experiment)
    running = wait_until_started(run)
    # The job's end time is moved to one second from now.
    slurm.ask("scontrol", "update", f"JobId={running.native_id}", "EndTime=now+1")
    ended = wait_until_ended(run, "timeout", "failed", "interrupted")
    assert ended.state == State.TIMEOUT.value and ended.reason.startswith("reached its time limit in Slurm")


def test_unstartable_job_fails_without_restart(
    experiment: Experiment, slurm_executor: ScriptedSlurm, slurm: SlurmCluster
) -> None:
    set_timeouts(never=0.5)
    slurm_executor.site = Site(partition="short", time_limit_seconds=7200)
    run = launch_run(experiment, restarts=3)
    ended = tick_until(run, "failed", "succeeded")
    # Slurm finds one reason or another first: too much time, or no such node.
    assert (
        ended.reason.startswith("cancelled after 0.5 s because it cannot start: will not start: ")
        and "(Slurm: Partition" in ended.reason
    )
    assert ended.n == 1 and ended.restart_at is None
    assert not slurm.ask("squeue", "-h", "-n", ended.key, "-t", "PD,R", "-o", "%i")
