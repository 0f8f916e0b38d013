"""Boards are looked after by the beat, by its own name for the job, and more often than a minute."""

from __future__ import annotations

from django.conf import settings

from judging.boards.tasks import keep_boards


def test_the_beat_works_out_boards_that_are_due() -> None:
    (entry,) = (one for one in settings.CELERY_BEAT_SCHEDULE.values() if one["task"] == keep_boards.name)
    assert entry["schedule"] <= 10
    assert entry["options"]["expires"] <= entry["schedule"], "ticks that nobody had time for are not worked off later"
