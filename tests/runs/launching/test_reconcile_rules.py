"""The table of rules: the node's files, the cluster's reply, and the decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from runs.clusters import Timeouts
from runs.launching.reconcile.attempt_files import Ending, Traces
from runs.launching.reconcile.rules import Decision, JobFacts, decide
from runs.models import Attempt, Cluster, Run
from tests.cases import each_case
from workers.executors.base import Observation
from workers.executors.states import State

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITS = Timeouts(exit_record=90, settle=10, gone=300, beat_stale=90, beat_lost=600)
OUT_OF_MEMORY = "killed by signal 9 for lack of memory: oom_kill of its control group rose by 1"
DONE = Ending(0, None, False, False, NOW - timedelta(seconds=60), NOW - timedelta(seconds=5))


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def observe(state: State, reason: str = "") -> Observation:
    return Observation(state, "17", state.value.upper(), reason)


def verdict(
    seen: Observation | None,
    ending: Ending | None = None,
    trusted: bool = True,
    claimed: bool = True,
    refused: bool = False,
    **fields: Any,
) -> Decision | None:
    fields = {"state": "running", "heartbeat_seen_at": ago(1), "started_at": ago(60), **fields}
    config = {"method": "es", "es": {}, "compute": {"time_limit_seconds": 30}}
    attempt = Attempt(key="esweb-x-a1", run=Run(config=config), cluster=Cluster(name="far"), **fields)
    return decide(JobFacts(attempt, seen, Traces(ending, 1, claimed, was_refused=refused), WAITS, trusted, NOW))


def state_of(*args: Any, **kwargs: Any) -> State | None:
    decision = verdict(*args, **kwargs)
    return decision and decision.state


@each_case(
    ("ending", "state", "reason"),
    [
        (DONE, State.SUCCEEDED, "done"),
        (replace(DONE, code=75), State.INTERRUPTED, "was stopped and saved a checkpoint"),
        (replace(DONE, stopped=True), State.SUCCEEDED, "done"),
        (replace(DONE, timed_out=True), State.SUCCEEDED, "done"),
        (replace(DONE, code=74, stopped=True), State.FAILED, "ended with exit code 74"),
        (replace(DONE, code=1, timed_out=True), State.FAILED, "ended with exit code 1"),
        (replace(DONE, code=None, signal=9, stopped=True), State.INTERRUPTED, "was stopped from outside"),
        (replace(DONE, code=None, signal=15, stopped=True), State.INTERRUPTED, "was stopped from outside"),
        (
            replace(DONE, code=75, timed_out=True),
            State.TIMEOUT,
            "reached its time limit of 30 s; a checkpoint was saved",
        ),
        (replace(DONE, code=None, signal=9, timed_out=True), State.TIMEOUT, "reached its time limit of 30 s"),
        (replace(DONE, code=None, signal=9), State.FAILED, "killed by signal 9"),
        (replace(DONE, code=None, signal=9, oom_kills=0), State.FAILED, "killed by signal 9"),
        (replace(DONE, code=None, signal=9, oom_kills=1), State.OOM, OUT_OF_MEMORY),
        (replace(DONE, code=None, signal=9, stopped=True, oom_kills=1), State.OOM, OUT_OF_MEMORY),
        (replace(DONE, code=1, oom_kills=1), State.FAILED, "ended with exit code 1"),
        (replace(DONE, code=None, signal=11), State.FAILED, "killed by signal 11 (SIGSEGV)"),
        (replace(DONE, code=3), State.FAILED, "ended with exit code 3"),
    ],
)
def test_exit_record_decides_the_final_state(ending: Ending, state: State, reason: str) -> None:
    for seen in (None, observe(State.SUCCEEDED), observe(State.FAILED), observe(State.LOST)):
        decision = verdict(seen, ending)
        assert decision and (decision.state, decision.reason) == (state, reason)
        assert decision.updates["exit_code"] == ending.code and decision.updates["ended_at"] == ending.ended_at


CANCELLING = {"cancel_requested_at": ago(20), "final_since_at": ago(100), "gone_since_at": ago(400)}
CANCELLING |= {"heartbeat_seen_at": ago(400)}
KILLED = replace(DONE, code=None, signal=9)


@each_case(
    "ending",
    [
        replace(DONE, code=75),
        replace(DONE, code=75, stopped=True),
        replace(DONE, code=None, signal=15),
        replace(KILLED, stopped=True),
        replace(KILLED, stopped=True, oom_kills=0),
        None,
    ],
)
def test_requested_cancel_names_the_end_that_it_caused(ending: Ending | None) -> None:
    for seen in (None, observe(State.FAILED), observe(State.CANCELLED), observe(State.INTERRUPTED)):
        assert state_of(seen, ending, **CANCELLING) == State.CANCELLED


@each_case(
    ("ending", "state", "reason"),
    [
        (DONE, State.SUCCEEDED, "done before the requested cancel took effect"),
        (replace(DONE, stopped=True), State.SUCCEEDED, "done before the requested cancel took effect"),
        (replace(DONE, code=1), State.FAILED, "ended with exit code 1"),
        (replace(DONE, code=74, stopped=True), State.FAILED, "ended with exit code 74"),
        (replace(DONE, code=75, timed_out=True, stopped=True), State.TIMEOUT, "reached its time limit of 30 s; a"),
        (KILLED, State.FAILED, "killed by signal 9"),
        (replace(KILLED, signal=11, stopped=True), State.FAILED, "killed by signal 11 (SIGSEGV)"),
        (replace(KILLED, stopped=True, oom_kills=2), State.OOM, "killed by signal 9 for lack of memory"),
    ],
)
def test_requested_cancel_does_not_hide_what_the_program_recorded(ending: Ending, state: State, reason: str) -> None:
    for seen in (None, observe(State.FAILED), observe(State.SUCCEEDED)):
        decision = verdict(seen, ending, **CANCELLING)
        assert decision and decision.state == state and decision.reason.startswith(reason)
        assert decision.remark == ("" if state == State.SUCCEEDED else "a cancel had been requested")


@each_case("seen", [State.CANCELLED, State.LOST])
def test_program_that_its_cluster_killed_at_a_cancel_is_cancelled(seen: State) -> None:
    assert state_of(observe(seen), KILLED, **CANCELLING) == State.CANCELLED


def test_requested_cancel_does_not_hide_lack_of_memory_that_the_cluster_reports() -> None:
    decision = verdict(observe(State.OOM, "OutOfMemory"), **CANCELLING)
    assert decision and (decision.state, decision.remark) == (State.OOM, "a cancel had been requested")
    assert state_of(observe(State.OOM), replace(KILLED, stopped=True), **CANCELLING) == State.OOM
    assert state_of(observe(State.OOM), replace(DONE, code=75), **CANCELLING) == State.CANCELLED


@each_case("native", [State.TIMEOUT, State.PREEMPTED, State.OOM, State.NODE_LOST, State.INTERRUPTED])
def test_run_at_its_last_step_succeeded_whatever_its_cluster_reports(native: State) -> None:
    assert state_of(observe(native), replace(DONE, stopped=True)) == State.SUCCEEDED


@each_case("native", [State.TIMEOUT, State.PREEMPTED, State.OOM, State.NODE_LOST, State.INTERRUPTED])
def test_final_state_reported_only_by_the_cluster_is_used(native: State) -> None:
    decision = verdict(observe(native, "its words"), replace(DONE, code=None, signal=15, stopped=True))
    assert decision and (decision.state, decision.reason) == (native, "its words")


@each_case("number", [1.7e18, 1e300, -1.0, float("nan")])
def test_exit_record_with_a_bad_time_decides_without_it(number: float) -> None:
    record = {"code": 0, "signal": None, "timed_out": False, "stopped": False, "ended_at": NOW.timestamp()}
    decision = verdict(observe(State.SUCCEEDED), ending=Ending.from_json(record | {"started_at": number}))
    assert decision is not None and decision.state == State.SUCCEEDED
    assert decision.updates == {"exit_code": 0, "exit_signal": None, "ended_at": NOW}


def test_while_the_cluster_calls_it_running_a_fresh_exit_record_waits() -> None:
    assert state_of(observe(State.RUNNING), DONE, final_since_at=ago(9)) == State.RUNNING
    assert state_of(observe(State.RUNNING), DONE, final_since_at=ago(10)) == State.SUCCEEDED


def test_an_end_without_a_record_waits_for_slow_files() -> None:
    assert verdict(observe(State.FAILED, "NonZeroExitCode"), final_since_at=ago(89)) is None
    decision = verdict(observe(State.FAILED, "NonZeroExitCode"), final_since_at=ago(90))
    assert decision and (decision.state, decision.reason) == (State.FAILED, "NonZeroExitCode")


def test_jobs_that_never_began_need_no_exit_record() -> None:
    assert state_of(observe(State.CANCELLED), claimed=False, final_since_at=NOW) == State.CANCELLED
    assert state_of(observe(State.FAILED), claimed=False, final_since_at=NOW) == State.FAILED
    assert state_of(observe(State.INTERRUPTED), final_since_at=NOW) == State.INTERRUPTED
    assert state_of(observe(State.LOST), claimed=False, final_since_at=NOW) is None


def test_job_started_twice_is_lost_and_fenced() -> None:
    observation = observe(State.FAILED, "NonZeroExitCode")
    assert verdict(observation, refused=True, final_since_at=ago(89)) is None
    decision = verdict(observation, refused=True, final_since_at=ago(90))
    assert decision and decision.state == State.LOST and decision.must_fence
    assert decision.reason == "far lost its record of the job and started it again: NonZeroExitCode"
    killed = verdict(observation, replace(DONE, code=None, signal=9), refused=True)
    assert killed and killed.state == State.LOST
    assert killed.reason == "far lost its record of the job and started it again"
    assert state_of(observation, DONE, refused=True) == State.SUCCEEDED


def test_success_without_a_record_is_no_success() -> None:
    decision = verdict(observe(State.SUCCEEDED), final_since_at=ago(90))
    assert decision and decision.state == State.FAILED and "no exit record" in decision.reason


def test_an_unwished_cancel_came_from_outside() -> None:
    decision = verdict(observe(State.CANCELLED, "by 0"), final_since_at=ago(90))
    assert decision and (decision.state, decision.reason) == (State.CANCELLED, "cancelled from outside: by 0")


def test_cancelled_job_that_never_began_is_lost_with_its_node() -> None:
    cancelled = replace(observe(State.CANCELLED, "on n2"), nodes="n2")
    decision = verdict(cancelled, claimed=False, final_since_at=ago(90))
    assert decision and (decision.state, decision.reason) == (State.NODE_LOST, "the node did not start it: on n2")
    assert verdict(cancelled, claimed=False, final_since_at=ago(89)) is None
    assert state_of(cancelled, final_since_at=ago(90)) == State.CANCELLED
    assert state_of(cancelled, claimed=False, final_since_at=ago(90), cancel_requested_at=NOW) == State.CANCELLED


def test_job_that_cannot_start_is_removed_from_the_queue() -> None:
    stuck = replace(observe(State.QUEUED, "will not start: no node"), never_starts=True)
    waiting = verdict(stuck, state="queued", stuck_since_at=ago(WAITS.never - 1))
    assert waiting and waiting.state == State.QUEUED
    decision = verdict(stuck, state="queued", stuck_since_at=ago(WAITS.never))
    assert decision and decision.state == State.FAILED and decision.must_withdraw and decision.must_fence
    assert decision.reason == "cancelled after 1800 s because it cannot start: will not start: no node"


@each_case("state", [State.QUEUED, State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING])
def test_the_clusters_word_on_the_living_is_taken(state: State) -> None:
    decision = verdict(observe(state, "Priority"), state="running")
    assert decision and (decision.state, decision.reason) == (state, "Priority")


def test_a_requeued_job_goes_back_to_waiting() -> None:
    assert state_of(observe(State.QUEUED, "BeginTime"), state="running") == State.QUEUED


def test_missing_heartbeat_is_reported_when_running_is_trusted() -> None:
    decision = verdict(observe(State.RUNNING), heartbeat_seen_at=ago(3600))
    assert decision and (decision.state, decision.reason) == (
        State.RUNNING,
        "no heartbeat since 02:04:05 UTC; far reports RUNNING",
    )
    assert not decision.must_fence


def test_a_silent_heart_is_an_end_where_running_is_not_trusted() -> None:
    assert state_of(observe(State.RUNNING), trusted=False, heartbeat_seen_at=ago(599)) == State.RUNNING
    decision = verdict(observe(State.RUNNING), trusted=False, heartbeat_seen_at=ago(600))
    assert decision and decision.state == State.LOST and decision.must_fence


def test_a_paused_heart_may_be_silent() -> None:
    assert state_of(observe(State.PAUSED), trusted=False, heartbeat_seen_at=ago(3600)) == State.PAUSED


def test_absence_is_an_end_only_when_long_and_silent() -> None:
    assert verdict(None, gone_since_at=None, heartbeat_seen_at=ago(3600)) is None
    assert verdict(None, gone_since_at=ago(299), heartbeat_seen_at=ago(3600)) is None
    assert verdict(None, gone_since_at=ago(3600), heartbeat_seen_at=ago(1)) is None
    decision = verdict(None, gone_since_at=ago(300), heartbeat_seen_at=ago(300))
    assert decision and decision.state == State.LOST and decision.must_fence
    assert state_of(None, gone_since_at=ago(300), heartbeat_seen_at=None) == State.LOST
