"""Celery finds the tasks of every feature, under the names that queued messages and the schedule carry."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from esweb.celery import TASK_PACKAGES, app

ROOT = Path(__file__).parents[2]


def test_every_module_of_tasks_is_loaded() -> None:
    modules = [path for side in ("esweb", "judging", "runs") for path in (ROOT / side).rglob("tasks.py")]
    assert {".".join(path.parent.relative_to(ROOT).parts) for path in modules} == set(TASK_PACKAGES)


@pytest.mark.parametrize(
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
