"""What every cluster promises, on fakes: a job is found, submitted once, polled and cancelled, and its end is told
right, whatever the cluster replies."""

from __future__ import annotations

from typing import Any

import pytest

from runs import launching
from runs.clusters import executor_for
from runs.models import Experiment, Origin, Run
from tests.clusters.fakes import agent
from tests.clusters.fakes.far import ALSO_OVER_SSH, HERE, OVER_SSH, Far
from tests.clusters.scripted_slurm import launch_run, set_timeouts, tick_run
from tests.runs.local_cluster import attempt_of
from workers.attempt import CLOSED_EPOCH, lease
from workers.executors.base import Spec
from workers.executors.states import State

ENDS: list[tuple[dict[str, Any], State, str]] = [
    ({"code": 0}, State.SUCCEEDED, "done"),
    ({"code": 3}, State.FAILED, "ended with exit code 3: no such prompt"),
    ({"code": 75}, State.INTERRUPTED, "was stopped and saved a checkpoint"),
    ({"code": None, "signal": 11}, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]
"""Exit record of a program, and state and reason of its attempt."""


class Killed(BaseException):
    """Raised to simulate the worker dying at this line."""


def key_of(run: Run) -> str:
    return attempt_of(run).key


@ALSO_OVER_SSH
def test_exit_codes_and_signals_are_reported(far: Far, experiment: Experiment) -> None:
    runs = [launch_run(experiment) for _ in ENDS]
    queued = far.tick(*runs)
    assert {attempt.state for attempt in queued} == {State.QUEUED.value} and all(a.native_id for a in queued)
    for attempt in queued:
        far.fake.start(attempt.key)
        (far.directory(attempt) / "log.txt").write_text("hello\nno such prompt\n")
    far.tick()
    running = far.tick(*runs)
    node = "10.0.0.5" if far.kind == "ray" else "n1"
    assert {(a.state, a.reason, a.started_at is None) for a in running} == {(State.RUNNING.value, f"on {node}", False)}
    for attempt, (record, _, _) in zip(running, ENDS, strict=True):
        far.fake.finish(attempt.key, **record)
    for ended, (record, state, reason) in zip(far.tick(*runs), ENDS, strict=True):
        assert (ended.state, ended.reason) == (state.value, reason)
        assert (ended.exit_code, ended.exit_signal) == (record["code"], record.get("signal"))
        assert (ended.directory / "log.txt").read_text() == "hello\nno such prompt\n"
    assert far.row.answered_at is not None


@OVER_SSH
def test_cancelled_job_saves_checkpoint_within_its_grace(far: Far, experiment: Experiment) -> None:
    run, other = launch_run(experiment), launch_run(experiment)
    running, beside = far.start(run), far.start(other)
    launching.request_cancel(run, experiment.owner)
    for _ in range(2):
        [stopping] = far.tick(run)
    assert stopping.state == State.RUNNING.value and lease(far.directory(stopping)) == 0
    if far.kind == "ray":
        assert far.fake.signals == [running.key] * 2
    else:
        assert far.fake.running(running.key).signals == ["TERM"] * 2 and not far.fake.running(beside.key).signals
    far.fake.finish(running.key, 75)
    [ended] = far.tick(run)
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert attempt_of(other).state == State.RUNNING.value


@HERE
def test_job_that_does_not_stop_is_ended_after_its_grace(
    far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    launching.request_cancel(run)
    far.tick(run)
    monkeypatch.setattr("runs.launching.cancel.KILL_SECONDS", -0.001)
    set_timeouts(grace=0.0, exit_record=0.0)
    [ended] = far.tick(run)
    if far.kind == "ray":
        # The agent ends its program, since its lease is over.
        assert lease(ended.directory) == CLOSED_EPOCH and ended.state == State.RUNNING.value
        far.fake.end(running.key, "STOPPED")
        [ended] = far.tick(run)
    else:
        assert far.fake.jobs_of(running.key)[0].signals == ["TERM", "KILL"]
    assert ended.state == State.CANCELLED.value


@HERE
def test_job_that_arrived_without_a_reply_is_adopted(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    far.fake.lose_reply_to_submit()
    assert not launching.submit_job(attempt_of(run))
    unclear = attempt_of(run)
    assert unclear.state == State.SUBMITTING.value and "far did not confirm the job" in unclear.reason
    [adopted] = far.tick(run)
    assert (adopted.state, adopted.submits) == (State.QUEUED.value, 1)
    assert adopted.events.get(to_state="queued").why == "found on the cluster"
    assert len(far.fake.jobs_of(adopted.key)) == 1


@HERE
def test_job_that_did_not_arrive_is_submitted_again_after_a_while(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    far.fake.lose_submit()
    far.tick(run)
    for _ in range(2):
        [unclear] = far.tick(run)
        assert unclear.state == State.SUBMITTING.value and not far.fake.jobs_of(unclear.key)
    set_timeouts(ambiguous=0.0)
    [again] = far.tick(run)
    assert (again.state, again.submits) == (State.QUEUED.value, 2) and len(far.fake.jobs_of(again.key)) == 1


@HERE
def test_refused_job_fails_with_the_reason(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, restarts=3)
    far.fake.refuse_submit("Invalid account nolab")
    [refused] = far.tick(run)
    assert refused.state == State.FAILED.value and "far refused it: " in refused.reason
    assert refused.reason.endswith("Invalid account nolab") and not far.fake.jobs_of(refused.key)


@ALSO_OVER_SSH
def test_silent_cluster_changes_no_job_and_is_queried_once(far: Far, experiment: Experiment) -> None:
    runs = [launch_run(experiment) for _ in range(2)]
    running, finished = map(far.start, runs)
    set_timeouts(gone=0.0, exit_record=0.0, settle=0.0)
    far.fake.is_away = True
    agent.beat(far.directory(running))
    agent.end(far.directory(finished))
    late = [launch_run(experiment) for _ in range(2)]
    far.fake.commands.clear()
    attempts = far.tick(*runs)
    assert len(far.fake.commands) == 2
    assert [attempt.state for attempt in attempts] == [State.RUNNING.value] * 2
    assert far.row.unreachable_since_at is not None and attempts[0].gone_since_at is None
    assert attempts[0].heartbeat == 1
    first, second = (attempt_of(run) for run in late)
    assert first.state == State.SUBMITTING.value and "far does not reply" in first.reason
    assert (second.state, second.submits) == (State.CREATED.value, 0)
    far.fake.is_away = False
    states = [attempt.state for attempt in far.tick(*runs, *late)]
    assert states == ["running", "succeeded", "queued", "queued"] and far.row.unreachable_since_at is None


@OVER_SSH
def test_forgotten_job_is_lost_and_fenced(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, restarts=1)
    running = far.start(run)
    far.fake.forget()
    [absent] = far.tick(run)
    assert absent.state == State.RUNNING.value and absent.gone_since_at is not None
    set_timeouts(gone=0.0)
    far.tick(run)
    lost = run.attempts.get(n=1)
    assert (lost.state, lost.reason) == (State.LOST.value, "far has reported no such job for 0 s")
    assert lease(far.directory(running)) == CLOSED_EPOCH
    assert lost.restart_at is not None


@ALSO_OVER_SSH
def test_job_on_a_lost_node_is_fenced_before_the_next_attempt(far: Far, experiment: Experiment) -> None:
    set_timeouts(exit_record=0.0, records=0.0)
    run = launch_run(experiment, restarts=1)
    running = far.start(run)
    if far.kind == "ray":
        far.fake.end(running.key, "FAILED", "The node is gone", error="JOB_SUPERVISOR_ACTOR_DIED")
    else:
        far.fake.end(running.key, "NODE_FAIL", "NodeDown")
    far.tick(run)
    lost = run.attempts.get(n=1)
    assert lost.state == State.NODE_LOST.value and lease(far.directory(lost)) == CLOSED_EPOCH
    assert ("its node n1 failed" if far.kind != "ray" else "or the node failed") in lost.reason
    [second] = far.tick(run)
    assert (second.n, second.origin, second.state) == (2, Origin.RESTART, State.QUEUED.value)
    assert launching.count_restarts(run) == 1 and far.start(run).state == State.RUNNING.value


@HERE
def test_end_without_an_exit_record_is_believed_after_a_while(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    far.fake.end(running.key, "FAILED")
    assert far.tick(run)[0].state == State.RUNNING.value
    set_timeouts(exit_record=0.0)
    [failed] = far.tick(run)
    assert failed.state == State.FAILED.value
    assert failed.reason.startswith("Ray: FAILED" if far.kind == "ray" else "Slurm: FAILED")


@OVER_SSH
def test_exit_record_decides_once_the_cluster_is_late(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    agent.end(far.directory(running))
    assert far.tick(run)[0].state == State.RUNNING.value
    set_timeouts(settle=0.0)
    assert far.tick(run)[0].state == State.SUCCEEDED.value


def test_only_rays_word_needs_a_heartbeat(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    agent.beat(far.directory(running))
    assert far.tick(run)[0].heartbeat == 1
    set_timeouts(beat_lost=0.0, beat_stale=0.0)
    [silent] = far.tick(run)
    if far.kind == "ray":
        assert (silent.state, silent.reason) == (State.LOST.value, "no heartbeat for 0 s")
        assert lease(silent.directory) == CLOSED_EPOCH and far.fake.signals == [running.key]
    else:
        assert silent.state == State.RUNNING.value and silent.reason.startswith("no heartbeat since ")


def test_hopeless_job_is_withdrawn_without_a_restart(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, restarts=3, gpus=99 if far.kind == "ray" else 0)
    far.tick(run)
    if far.kind != "ray":
        far.fake.jobs_of(key_of(run))[0].reason = "PartitionTimeLimit"
    [waiting] = far.tick(run)
    assert waiting.state == State.QUEUED.value
    set_timeouts(never=0.0)
    [failed] = far.tick(run)
    assert failed.state == State.FAILED.value and lease(far.directory(failed)) == CLOSED_EPOCH
    assert failed.reason == f"cancelled after 0 s because it cannot start: {waiting.reason}"
    assert tick_run(run).n == 1 and attempt_of(run).restart_at is None
    if far.kind != "ray":
        assert "will not start: it requests more time than its partition allows" in waiting.reason
        assert far.fake.jobs_of(failed.key)[0].state == "CANCELLED"


@HERE
def test_killed_worker_submits_job_once(far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = type(executor_for(far.row))
    submit, runs = executor.submit, [launch_run(experiment) for _ in range(2)]
    early = attempt_of(runs[0]).key

    def die(self: Any, spec: Spec) -> str:
        if spec.key != early:
            submit(self, spec)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(executor, "submit", die)
        for run in runs:
            with pytest.raises(Killed):
                launching.submit_job(attempt_of(run))
    set_timeouts(ambiguous=0.0)
    queued = far.tick(*runs)
    assert [(a.state, a.submits) for a in queued] == [(State.QUEUED.value, 2), (State.QUEUED.value, 1)]
    assert [len(far.fake.jobs_of(a.key)) for a in queued] == [1, 1]
