"""Celery's jobs: enqueued on commit, safe to repeat, made up for where they are lost."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError

from esweb.celery import app
from runs.launching import commands, tasks
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.local_cluster import Small, attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG
from workers.config import RunConfig, preset
from workers.executors.states import State

Commit = Callable[..., Any]


@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Collect the messages to the queue, in order, instead of sending them."""
    sent: list[tuple[str, Any]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **_: sent.append((name, *args)))
    tick = tasks.tick_cluster
    monkeypatch.setattr(tick, "apply_async", lambda args, **_: sent.append((tick.name, *args)))
    return sent


def _launch(experiment: Experiment) -> Run:
    config = preset("es-micro").config
    return commands.launch_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), preset="es-micro"
    )


def test_a_launch_is_enqueued_once_it_is_committed(
    experiment: Experiment, local: Cluster, enqueued: list[Any], django_capture_on_commit_callbacks: Commit
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = _launch(experiment)
        assert enqueued == []
    assert enqueued == [("runs.jobs.submit_attempt", attempt_of(run).pk)]


def test_a_launch_that_is_rolled_back_is_not_enqueued(
    experiment: Experiment, local: Cluster, enqueued: list[Any], django_capture_on_commit_callbacks: Commit
) -> None:
    with django_capture_on_commit_callbacks(execute=True), pytest.raises(RuntimeError), transaction.atomic():
        _launch(experiment)
        raise RuntimeError
    assert enqueued == [] and not Run.objects.exists()


def test_a_queue_that_is_away_costs_time_and_no_run(
    experiment: Experiment,
    small: Small,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Commit,
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", away)
    with caplog.at_level(logging.ERROR), django_capture_on_commit_callbacks(execute=True):
        run = _launch(experiment)
    assert "Connection refused" in caplog.text
    tick_until(run, State.SUCCEEDED.value)


def test_the_jobs_carry_a_run_from_launch_to_cancel(
    experiment: Experiment, small: Small, enqueued: list[Any], django_capture_on_commit_callbacks: Commit
) -> None:
    small.program = RUNS_LONG
    with django_capture_on_commit_callbacks(execute=True):
        run = _launch(experiment)
    pk = attempt_of(run).pk
    for _ in range(2):
        tasks.submit_attempt(pk)
    running = attempt_of(run)
    assert running.state == State.RUNNING.value and small.submitted == [running.key]
    with django_capture_on_commit_callbacks(execute=True):
        commands.cancel_run(run, experiment.owner)
    assert enqueued[-1] == ("runs.jobs.cancel_attempt", pk)

    def is_cancelled() -> bool:
        tasks.cancel_attempt(pk)
        return attempt_of(run).state == State.CANCELLED.value

    wait_until(is_cancelled, "the attempt to be cancelled")
    with django_capture_on_commit_callbacks(execute=True):
        commands.cancel_run(run)
    assert len(enqueued) == 2


def test_every_cluster_gets_its_tick(local: Cluster, enqueued: list[Any]) -> None:
    other = Cluster.objects.create(name="other", kind="local")
    tasks.tick_clusters()
    assert sorted(enqueued) == [("runs.jobs.tick_cluster", pk) for pk in sorted((local.pk, other.pk))]


def test_a_tick_by_its_job_is_a_tick(experiment: Experiment, small: Small, local: Cluster) -> None:
    run = Attempt.objects.get(run=_launch(experiment)).run

    def is_done() -> bool:
        tasks.tick_cluster(local.pk)
        return attempt_of(run).state == State.SUCCEEDED.value

    wait_until(is_done, "the run to succeed")


def test_all_jobs_are_known_limited_and_acknowledged_late() -> None:
    app.loader.import_default_modules()
    names = {"submit_attempt", "cancel_attempt", "tick_cluster", "tick_clusters"}
    tasks_by_name = {name: app.tasks[f"runs.jobs.{name}"] for name in names}
    for task in tasks_by_name.values():
        assert task.acks_late and task.reject_on_worker_lost
        assert (task.soft_time_limit, task.time_limit) == (60, 120)
