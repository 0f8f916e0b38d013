"""Celery loads the tasks of every feature, under the names that queued messages and the schedule have."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from esweb.celery import TASK_PACKAGES, app
from judging.models import Tournament
from judging.tournaments.commands import DAYS_IN_TRASH
from tests.cases import each_case
from tests.process_environment import on_test_database
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]


def test_every_module_of_tasks_is_loaded() -> None:
    modules = [path for side in ("esweb", "judging", "runs") for path in (ROOT / side).rglob("tasks.py")]
    assert {".".join(path.parent.relative_to(ROOT).parts) for path in modules} == set(TASK_PACKAGES)


@each_case(
    "name",
    [
        *(entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()),
        *(f"runs.jobs.{name}" for name in ("submit_attempt", "cancel_attempt", "tick_cluster", "go_on_with_test")),
        *(f"runs.jobs.{name}" for name in ("submit_rebuild", "cancel_rebuild")),
        "judging.jobs.ask_judges",
        "judging.jobs.keep_boards",
        "judging.jobs.purge_bin",
        "judging.jobs.work_out_panels",
    ],
)
def test_a_message_of_this_name_has_a_task(name: str) -> None:
    app.loader.import_default_modules()
    assert name in app.tasks


@pytest.mark.django_db(transaction=True)
def test_a_message_that_was_queued_before_its_task_moved_is_done() -> None:
    """The sender knows no tasks, as an older version knows none of these modules: a message is a name and arguments."""
    owner = User.objects.create(username="ada")
    long_ago = timezone.now() - timedelta(days=DAYS_IN_TRASH + 1)
    Tournament.objects.create(name="Old", owner=owner, seed=1, deleted_at=long_ago)
    queue = f"old-messages-{os.getpid()}"
    with Celery(broker=settings.CELERY_BROKER_URL) as sender:
        sender.send_task("judging.jobs.purge_bin", queue=queue)
    # A process of its own: a worker of esweb that stops ends its process soon after (`esweb.celery.StopDeadline`).
    command = [
        sys.executable,
        "-m",
        "celery",
        "--quiet",
        "--app",
        "esweb",
        "worker",
        "--pool",
        "solo",
        "--queues",
        queue,
    ]
    with subprocess.Popen(command, cwd=ROOT, env=on_test_database()) as worker:
        try:
            wait_until(lambda: not Tournament.objects.exists(), "the tournament to be purged")
        finally:
            worker.terminate()
