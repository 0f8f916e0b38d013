"""A cancel request is retained until the attempt has ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from runs import launching
from runs.models import Cluster, Experiment, Run
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of, tick_once, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import CHECKPOINTS, IGNORES_TERM, RUNS_LONG, STAYS_SECONDS
from workers.executors.base import Ambiguous, Unreachable
from workers.executors.states import State
from workers.executors.tickets import Tickets


def _raise(error: Exception) -> None:
    raise error


def _running(experiment: Experiment, small: Small, program: str) -> Run:
    small.program = program
    run = run_of(experiment)
    attempt = tick_until(run, State.RUNNING.value)
    wait_until((attempt.directory / "started").exists, "the program to start")
    return run


def test_before_it_is_submitted_nothing_reaches_the_cluster(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    launching.request_cancel(run)
    ended = tick_once(run)
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled before it was submitted")
    assert small.submitted == [] and not ended.directory.exists()


def test_a_waiting_attempt_leaves_the_line(experiment: Experiment, small: Small) -> None:
    _running(experiment, small, RUNS_LONG)
    run = run_of(experiment, cores=2)
    waiting = tick_once(run)
    assert waiting.state == State.QUEUED.value and waiting.reason.startswith("waiting for 2 cores: 1 of 2 in use by")
    launching.cancel_job(launching.request_cancel(run, experiment.owner) or waiting)
    ended = tick_once(run)
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled while it was queued")
    assert "cancel requested by ada" in [event.why for event in ended.events.all()]
    assert not (ended.directory / "started").exists()


def test_waiting_run_never_starts_when_both_are_cancelled(experiment: Experiment, small: Small) -> None:
    """The one that runs was launched first, and its end makes room."""
    small.program = CHECKPOINTS
    first = run_of(experiment, cores=2)
    attempt = tick_until(first, State.RUNNING.value)
    wait_until((attempt.directory / "started").exists, "the program to start")
    waiting = run_of(experiment, cores=2)
    tick_until(waiting, State.QUEUED.value)
    cancel, cancelled_keys = small.cancel, list[str]()

    def cancel_and_let_the_next_begin(key: str, grace_seconds: float) -> None:
        """Cancel as if somebody else polled the cluster in between and found the cores free."""
        cancelled_keys.append(key)
        cancel(key, grace_seconds)
        if key == attempt.key:
            wait_until(lambda: (seen := small.poll([key])[key]) and seen.state.is_final, "the first job to end")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "cancel", cancel_and_let_the_next_begin)
        for run in (first, waiting):
            launching.request_cancel(run, experiment.owner)
        tick_once(waiting)
    never = attempt_of(waiting)
    assert cancelled_keys == [never.key, attempt.key]
    assert (never.state, never.reason) == (State.CANCELLED.value, "cancelled while it was queued")
    assert not (never.directory / "started").exists()
    assert tick_until(first, State.CANCELLED.value).reason == "cancelled; a checkpoint was saved"


def test_a_running_attempt_checkpoints_and_is_cancelled(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, CHECKPOINTS)
    launching.request_cancel(run)
    ended = tick_until(run, State.CANCELLED.value)
    assert (ended.reason, ended.exit_code) == ("cancelled; a checkpoint was saved", 75)
    assert (ended.directory / "checkpoint").exists()


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace(
    experiment: Experiment, small: Small, local: Cluster
) -> None:
    quicken(local, grace=0.3)
    run = _running(experiment, small, IGNORES_TERM)
    launching.request_cancel(run)
    # On a busy machine the grace may be over before the cluster is polled.
    assert tick_once(run).state in (State.STOPPING.value, State.CANCELLED.value)
    ended = tick_until(run, State.CANCELLED.value)
    assert ended.exit_signal == 9


def test_cancel_is_retried_when_the_cluster_does_not_answer(
    experiment: Experiment, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _running(experiment, small, CHECKPOINTS)
    attempt = launching.request_cancel(run)
    assert attempt is not None
    with monkeypatch.context() as patch:
        patch.setattr(small, "cancel", lambda *_: _raise(Unreachable("no route")))
        launching.cancel_job(attempt)
    assert "as soon as local is reachable" in attempt_of(run).reason
    tick_until(run, State.CANCELLED.value)


def test_a_cancel_during_an_unclear_submit_is_not_forgotten(experiment: Experiment, small: Small) -> None:
    small.program = CHECKPOINTS
    small.after_submit = lambda: _raise(Ambiguous("Socket timed out"))
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    launching.request_cancel(run)
    tick_until(run, State.CANCELLED.value)


def test_a_cancel_of_a_submit_that_never_arrived_ends_without_another(experiment: Experiment, small: Small) -> None:
    small.before_submit = lambda: _raise(Ambiguous("Socket timed out"))
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    launching.request_cancel(run)
    ended = tick_until(run, State.CANCELLED.value)
    assert (ended.submits, ended.reason) == (1, "cancelled before it was on the cluster")


def _end_unseen(run: Run) -> None:
    """Submit the run and wait for its exit record, without a tick: as if the worker had been stopped."""
    launching.submit_job(attempt_of(run))
    wait_until((attempt_of(run).directory / "exit.json").exists, "the exit record")


def test_cancel_after_the_last_step_leaves_the_run_succeeded(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    _end_unseen(run)
    launching.cancel_job(launching.request_cancel(run, experiment.owner) or attempt_of(run))
    ended = tick_until(run, State.SUCCEEDED.value)
    assert ended.exit_code == 0
    assert [event.why for event in ended.events.order_by("pk")][-1] == "done before the requested cancel took effect"


def test_cancel_does_not_hide_or_restart_a_failure(experiment: Experiment, small: Small) -> None:
    small.program = "raise ValueError('the reward is not a number')"
    run = run_of(experiment, restarts=3)
    _end_unseen(run)
    launching.cancel_job(launching.request_cancel(run, experiment.owner) or attempt_of(run))
    ended = tick_until(run, State.FAILED.value)
    text = "ended with exit code 1: ValueError: the reward is not a number (a cancel had been requested)"
    assert (ended.reason, ended.restart_at) == (text, None)
    assert tick_once(run).n == 1


def test_ended_run_is_not_cancelled(experiment: Experiment, small: Small) -> None:
    run = run_of(experiment)
    ended = tick_until(run, State.SUCCEEDED.value)
    assert launching.request_cancel(run) is None
    launching.cancel_job(ended)
    assert attempt_of(run).state == State.SUCCEEDED.value


def test_a_stranger_with_the_recorded_pid_lives_on(experiment: Experiment, small: Small) -> None:
    run = _running(experiment, small, RUNS_LONG)
    queue = Tickets(small.root)
    ticket = queue.get(attempt_of(run).key)
    assert ticket is not None and ticket.owner is not None
    agent = ticket.owner
    with subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({STAYS_SECONDS})"]) as stranger:
        with queue.lock():
            queue.put(replace(ticket, owner=replace(agent, pid=stranger.pid)))
        launching.request_cancel(run)
        tick_until(run, State.CANCELLED.value)
        assert stranger.poll() is None
        stranger.kill()
    agent.send(signal.SIGKILL)
    wait_until(lambda: not agent.is_alive(), "the agent to end")
