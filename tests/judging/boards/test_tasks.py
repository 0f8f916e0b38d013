"""Celery beat schedules the board job by its name, more often than once a minute."""

from __future__ import annotations

from django.conf import settings

from judging.boards.tasks import update_boards


def test_celery_beat_schedules_board_job() -> None:
    (entry,) = (job for job in settings.CELERY_BEAT_SCHEDULE.values() if job["task"] == update_boards.name)
    assert entry["schedule"] <= 10
    assert entry["options"]["expires"] <= entry["schedule"], "ticks that nobody had time for are not worked off later"
