"""A state changes by compare-and-set, with an event and the run's state; open pages are notified after the commit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import launching
from runs.metrics import live
from runs.models import Cluster, Experiment
from tests.runs.local_cluster import attempt_of, run_of
from workers.executors.states import State


def test_concurrent_state_changes_happen_once(experiment: Experiment, local: Cluster) -> None:
    run = run_of(experiment)
    attempt, stale = attempt_of(run), attempt_of(run)
    assert launching.transition(attempt, State.SUBMITTING, "mine")
    assert not launching.transition(stale, State.CANCELLED, "yours")
    assert attempt_of(run).state == attempt.state == State.SUBMITTING.value and stale.state == State.CREATED.value
    events = attempt.events.order_by("pk").values_list("from_state", "to_state", "why")
    assert list(events)[1:] == [("created", "submitting", "mine")]


def test_the_run_is_in_the_state_of_its_newest_attempt(experiment: Experiment, local: Cluster) -> None:
    run = run_of(experiment)
    first = attempt_of(run)
    launching.transition(first, State.FAILED, "for the test")
    launching.new_attempt(run)
    launching.transition(attempt_of(run), State.RUNNING, "started")
    first.events.all().delete()
    launching.transition(first, State.LOST, "an old attempt moves")
    run.refresh_from_db()
    assert run.state == State.RUNNING.value


def test_times_are_taken_when_it_starts_and_ends(experiment: Experiment, local: Cluster) -> None:
    run = run_of(experiment)
    launching.transition(attempt_of(run), State.RUNNING, "started")
    running = attempt_of(run)
    assert running.started_at is not None and running.ended_at is None and running.reason == ""
    launching.transition(running, State.FAILED, "broke", exit_code=1)
    ended = attempt_of(run)
    assert ended.ended_at is not None and ended.started_at == running.started_at
    assert (ended.reason, ended.exit_code) == ("broke", 1)
    assert ended.events.latest("pk").level == "error"


def test_pages_are_notified_after_the_commit(
    experiment: Experiment,
    local: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., list[Callable[[], None]]],
) -> None:
    published: list[tuple[str, str]] = []
    monkeypatch.setattr(live, "publish_changed", lambda uid, change: published.append((uid, change)))
    run = run_of(experiment)
    with django_capture_on_commit_callbacks(execute=True):
        launching.transition(attempt_of(run), State.SUBMITTING, "going")
        assert published == []
    assert published == [(run.uid, "state")]
    with django_capture_on_commit_callbacks(execute=True):
        launching.update_facts(attempt_of(run), heartbeat=3)
        launching.update_facts(attempt_of(run), reason="going")
    assert published == [(run.uid, "state")]


def test_a_mark_on_an_attempt_that_moved_on_is_dropped(experiment: Experiment, local: Cluster) -> None:
    run = run_of(experiment)
    stale = attempt_of(run)
    launching.transition(attempt_of(run), State.SUBMITTING, "going")
    assert not launching.update_facts(stale, reason="too late")
    assert attempt_of(run).reason == "going"
