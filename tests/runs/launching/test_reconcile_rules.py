"""The table of rules: what the node wrote, what the cluster says, and what follows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runs.clusters import Waits
from runs.launching.reconcile.attempt_files import Ending, Traces
from runs.launching.reconcile.rules import Known, Verdict, decide
from runs.models import Attempt, Cluster, Run
from workers.executors.base import Observation
from workers.executors.states import State

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITS = Waits(exit_record=90, settle=10, gone=300, beat_stale=90, beat_lost=600)
DONE = Ending(0, None, False, False, NOW - timedelta(seconds=60), NOW - timedelta(seconds=5))


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def says(state: State, reason: str = "") -> Observation:
    return Observation(state, "17", state.value.upper(), reason)


def verdict(
    seen: Observation | None,
    ending: Ending | None = None,
    trusted: bool = True,
    claimed: bool = True,
    refused: bool = False,
    **fields: Any,
) -> Verdict | None:
    fields = {"state": "running", "heartbeat_seen_at": ago(1), "started_at": ago(60), **fields}
    config = {"method": "es", "es": {}, "compute": {"time_limit_seconds": 30}}
    attempt = Attempt(key="esweb-x-a1", run=Run(config=config), cluster=Cluster(name="far"), **fields)
    return decide(Known(attempt, seen, Traces(ending, 1, claimed, was_refused=refused), WAITS, trusted, NOW))


def state_of(*args: Any, **kwargs: Any) -> State | None:
    found = verdict(*args, **kwargs)
    return found and found.state


@pytest.mark.parametrize(
    ("ending", "state", "why"),
    [
        (DONE, State.SUCCEEDED, "done"),
        (replace(DONE, code=75), State.INTERRUPTED, "was told to stop and saved a checkpoint"),
        (replace(DONE, stopped=True), State.INTERRUPTED, "was told to stop from outside"),
        (replace(DONE, code=None, signal=15, stopped=True), State.INTERRUPTED, "was told to stop from outside"),
        (
            replace(DONE, code=75, timed_out=True),
            State.TIMEOUT,
            "reached its time limit of 30 s; a checkpoint was saved",
        ),
        (replace(DONE, code=None, signal=9, timed_out=True), State.TIMEOUT, "reached its time limit of 30 s"),
        (replace(DONE, code=None, signal=9), State.FAILED, "killed by signal 9 (out of memory?)"),
        (replace(DONE, code=None, signal=11), State.FAILED, "killed by signal 11 (SIGSEGV)"),
        (replace(DONE, code=3), State.FAILED, "ended with exit code 3"),
    ],
)
def test_the_exit_record_says_how_it_ended(ending: Ending, state: State, why: str) -> None:
    for seen in (None, says(State.SUCCEEDED), says(State.FAILED), says(State.LOST)):
        found = verdict(seen, ending)
        assert found and (found.state, found.why) == (state, why)
        assert found.facts["exit_code"] == ending.code and found.facts["ended_at"] == ending.ended_at


@pytest.mark.parametrize("ending", [DONE, replace(DONE, code=75), replace(DONE, code=None, signal=9), None])
def test_a_wished_cancel_wins(ending: Ending | None) -> None:
    assert state_of(says(State.FAILED), ending, cancel_requested_at=ago(20), final_since_at=ago(100)) == State.CANCELLED
    assert state_of(None, ending, cancel_requested_at=ago(20), gone_since_at=ago(400), heartbeat_seen_at=ago(400)) == (
        State.CANCELLED
    )


@pytest.mark.parametrize("native", [State.TIMEOUT, State.PREEMPTED, State.OOM, State.NODE_LOST, State.INTERRUPTED])
def test_what_only_the_cluster_can_know_keeps_its_name(native: State) -> None:
    found = verdict(says(native, "its words"), replace(DONE, code=None, signal=15, stopped=True))
    assert found and (found.state, found.why) == (native, "its words")


def test_while_the_cluster_calls_it_running_a_fresh_exit_record_waits() -> None:
    assert state_of(says(State.RUNNING), DONE, final_since_at=ago(9)) == State.RUNNING
    assert state_of(says(State.RUNNING), DONE, final_since_at=ago(10)) == State.SUCCEEDED


def test_an_end_without_a_record_waits_for_slow_files() -> None:
    assert verdict(says(State.FAILED, "NonZeroExitCode"), final_since_at=ago(89)) is None
    found = verdict(says(State.FAILED, "NonZeroExitCode"), final_since_at=ago(90))
    assert found and (found.state, found.why) == (State.FAILED, "NonZeroExitCode")


def test_what_never_began_or_was_interrupted_needs_no_record() -> None:
    assert state_of(says(State.CANCELLED), claimed=False, final_since_at=NOW) == State.CANCELLED
    assert state_of(says(State.FAILED), claimed=False, final_since_at=NOW) == State.FAILED
    assert state_of(says(State.INTERRUPTED), final_since_at=NOW) == State.INTERRUPTED
    assert state_of(says(State.LOST), claimed=False, final_since_at=NOW) is None


def test_what_was_started_twice_did_not_fail_by_itself() -> None:
    said = says(State.FAILED, "NonZeroExitCode")
    assert verdict(said, refused=True, final_since_at=ago(89)) is None
    found = verdict(said, refused=True, final_since_at=ago(90))
    assert found and found.state == State.LOST and found.must_fence
    assert found.why == "far forgot that it ran and started it again: NonZeroExitCode"
    killed = verdict(said, replace(DONE, code=None, signal=9), refused=True)
    assert killed and (killed.state, killed.why) == (State.LOST, "far forgot that it ran and started it again")
    assert state_of(said, DONE, refused=True) == State.SUCCEEDED


def test_success_without_a_record_is_no_success() -> None:
    found = verdict(says(State.SUCCEEDED), final_since_at=ago(90))
    assert found and found.state == State.FAILED and "no exit record" in found.why


def test_an_unwished_cancel_came_from_outside() -> None:
    found = verdict(says(State.CANCELLED, "by 0"), final_since_at=ago(90))
    assert found and (found.state, found.why) == (State.CANCELLED, "cancelled from outside: by 0")


def test_a_cancelled_job_that_its_node_never_began_is_lost_with_the_node() -> None:
    cancelled = replace(says(State.CANCELLED, "on n2"), nodes="n2")
    found = verdict(cancelled, claimed=False, final_since_at=ago(90))
    assert found and (found.state, found.why) == (State.NODE_LOST, "its node did not start it: on n2")
    assert verdict(cancelled, claimed=False, final_since_at=ago(89)) is None
    assert state_of(cancelled, final_since_at=ago(90)) == State.CANCELLED
    assert state_of(cancelled, claimed=False, final_since_at=ago(90), cancel_requested_at=NOW) == State.CANCELLED


def test_what_will_never_start_is_given_up_and_leaves_the_queue() -> None:
    stuck = replace(says(State.QUEUED, "will not start: no node"), never_starts=True)
    waiting = verdict(stuck, state="queued", stuck_since_at=ago(WAITS.never - 1))
    assert waiting and waiting.state == State.QUEUED
    found = verdict(stuck, state="queued", stuck_since_at=ago(WAITS.never))
    assert found and found.state == State.FAILED and found.must_withdraw and found.must_fence
    assert found.why == "given up after 1800 s: will not start: no node"


@pytest.mark.parametrize("state", [State.QUEUED, State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING])
def test_the_clusters_word_on_the_living_is_taken(state: State) -> None:
    found = verdict(says(state, "Priority"), state="running")
    assert found and (found.state, found.why) == (state, "Priority")


def test_a_requeued_job_goes_back_to_waiting() -> None:
    assert state_of(says(State.QUEUED, "BeginTime"), state="running") == State.QUEUED


def test_a_silent_heart_is_said_where_running_is_trusted() -> None:
    found = verdict(says(State.RUNNING), heartbeat_seen_at=ago(3600))
    assert found and (found.state, found.why) == (State.RUNNING, "no heartbeat since 02:04:05 UTC; far says RUNNING")
    assert not found.must_fence


def test_a_silent_heart_is_an_end_where_running_is_not_trusted() -> None:
    assert state_of(says(State.RUNNING), trusted=False, heartbeat_seen_at=ago(599)) == State.RUNNING
    found = verdict(says(State.RUNNING), trusted=False, heartbeat_seen_at=ago(600))
    assert found and found.state == State.LOST and found.must_fence


def test_a_paused_heart_may_be_silent() -> None:
    assert state_of(says(State.PAUSED), trusted=False, heartbeat_seen_at=ago(3600)) == State.PAUSED


def test_absence_is_an_end_only_when_long_and_silent() -> None:
    assert verdict(None, gone_since_at=None, heartbeat_seen_at=ago(3600)) is None
    assert verdict(None, gone_since_at=ago(299), heartbeat_seen_at=ago(3600)) is None
    assert verdict(None, gone_since_at=ago(3600), heartbeat_seen_at=ago(1)) is None
    found = verdict(None, gone_since_at=ago(300), heartbeat_seen_at=ago(300))
    assert found and found.state == State.LOST and found.must_fence
    assert state_of(None, gone_since_at=ago(300), heartbeat_seen_at=None) == State.LOST
