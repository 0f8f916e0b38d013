"""One message every few seconds ticks the clusters, and queues the jobs that have something to continue."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest
from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User

from esweb import tasks
from runs.models import Attempt, Cluster, Experiment, Run, Scoring


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return the messages that are queued from now on: name and arguments."""
    messages = list[tuple[Any, ...]]()
    monkeypatch.setattr(current_app, "send_task", lambda name, arguments=(), **_: messages.append((name, *arguments)))
    return messages


@pytest.fixture
def run(experiment: Experiment, ada: User) -> Run:
    return Run.objects.create(experiment=experiment, name="r", method="es", seed=0, config={}, created_by=ada)


@pytest.fixture
def ticked(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """Return the function that ticks a cluster in this process, which does nothing here."""
    function = mock.Mock()
    monkeypatch.setitem(current_app.tasks, tasks.TICK_CLUSTER, function)
    return function


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of the machine's clock, at which an idle site is not ticked."""
    now = [tasks.IDLE_TICK_SECONDS - 1.0]
    monkeypatch.setattr(tasks.time, "monotonic", lambda: now[0])
    return now


def test_idle_site_queues_no_further_message_and_is_ticked_now_and_then(
    db: None, sent: list[Any], ticked: mock.Mock, clock: list[float]
) -> None:
    tasks.tick()
    assert not ticked.called
    clock[0] += settings.TICK_SECONDS
    tasks.tick()
    ticked.assert_called_once_with(Cluster.objects.get(name="local").pk)
    assert sent == []


@pytest.mark.parametrize(
    "facts",
    [
        {"state": "running"},
        {"state": "created", "hold": "sweep"},
        {"state": "failed", "restart_at": datetime(2030, 1, 1, tzinfo=UTC)},
    ],
    ids=["running", "held", "restarts"],
)
def test_machine_with_an_open_attempt_is_ticked_every_time(
    run: Run, sent: list[Any], ticked: mock.Mock, clock: list[float], facts: dict[str, Any]
) -> None:
    local = Cluster.objects.get(name="local")
    Attempt.objects.create(run=run, n=1, key=f"esweb-{run.uid}-a1", cluster=local, **facts)
    tasks.tick()
    ticked.assert_called_once_with(local.pk)


def test_clusters_elsewhere_are_ticked_in_tasks_of_their_own(db: None, sent: list[Any], ticked: mock.Mock) -> None:
    slurm = Cluster.objects.create(name="far", kind="slurm", config={})
    tasks.tick()
    assert sent == [(tasks.TICK_CLUSTER, slurm.pk)]
    assert (slurm.pk,) not in [call.args for call in ticked.call_args_list]


def test_scoring_that_goes_on_is_continued(run: Run, ada: User, sent: list[Any]) -> None:
    scoring = Scoring.objects.create(run=run, asked_by=ada, scorer="length", done=0, total=1)
    tasks.queue_waiting_jobs()
    assert sent == [("runs.jobs.score_answers",)]
    Scoring.objects.filter(pk=scoring.pk).update(state=Scoring.State.DONE)
    tasks.queue_waiting_jobs()
    assert len(sent) == 1
