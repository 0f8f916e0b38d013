"""The machine's date moves, or no tick runs for a while: a job is not blamed for time that was not observed."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from runs import launching
from runs.models import Cluster, Experiment, Run
from tests.runs.local_cluster import Small, attempt_of, quicken, run_of, tick_once, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import RUNS_LONG
from workers.attempt import owner
from workers.executors.base import Observation
from workers.executors.states import State

WAITS = ("gone_since_at", "final_since_at", "heartbeat_seen_at")


def pass_unwatched(run: Run, time: timedelta) -> None:
    """Move all stored times back by this much, as after a jump of the clock, or a night without a worker."""
    attempt = attempt_of(run)
    then = {name: at - time for name in WAITS if (at := getattr(attempt, name)) is not None}
    launching.update_facts(attempt, **then)
    Cluster.objects.update(ticked_at=timezone.now() - time)


@pytest.fixture
def running(experiment: Experiment, small: Small, local: Cluster) -> Iterator[Run]:
    """Create a run whose heartbeats are so rare that the next ticks see none."""
    quicken(local, gone=PATIENCE_SECONDS, beat_lost=PATIENCE_SECONDS)
    small.program, small.beat_seconds = RUNS_LONG, PATIENCE_SECONDS
    run = run_of(experiment)
    tick_until(run, State.RUNNING.value)
    tick_until_true(run, "the first heartbeat", lambda a: a.heartbeat > 0)
    agent = owner(attempt_of(run).directory)
    assert agent is not None
    yield run
    # Its cluster may have forgotten it by now.
    agent.send(signal.SIGKILL)


def test_job_between_two_heartbeats_is_not_silent(running: Run, small: Small) -> None:
    small.trust_running = False
    for hours in (3, -3):
        pass_unwatched(running, timedelta(hours=hours))
        current = tick_once(running)
        assert (current.state, current.reason) == (State.RUNNING.value, ""), hours


def test_briefly_missing_job_is_not_lost(running: Run, small: Small) -> None:
    shutil.rmtree(small.root)
    for hours in (3, -3):
        assert tick_once(running).gone_since_at is not None
        pass_unwatched(running, timedelta(hours=hours))
        assert tick_once(running).state == State.RUNNING.value, hours


def test_an_exit_record_may_still_be_on_its_way(
    running: Run, small: Small, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(local, exit_record=PATIENCE_SECONDS)
    ended = Observation(State.FAILED, "1", "exit 1")
    monkeypatch.setattr(small, "poll", lambda keys: dict.fromkeys(keys, ended))
    assert tick_once(running).final_since_at is not None
    pass_unwatched(running, timedelta(hours=3))
    assert tick_once(running).state == State.RUNNING.value


def test_an_absence_that_is_watched_is_an_end(running: Run, small: Small, local: Cluster) -> None:
    quicken(local, gone=1.0)
    shutil.rmtree(small.root)
    tick_once(running)
    pass_unwatched(running, timedelta(hours=3))
    tick_until(running, State.LOST.value)
