"""Deleted tournaments are purged automatically."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Tournament
from judging.tournaments.tasks import purge_deleted_tournaments


@pytest.mark.django_db
def test_purge_removes_tournaments_deleted_long_ago(ada: User) -> None:
    for name, days in (("old", 31), ("young", 29)):
        Tournament.objects.create(
            name=name, owner=ada, seed=0, deleted_at=timezone.now() - timedelta(days=days), deleted_by=ada
        )

    purge_deleted_tournaments()

    assert [tournament.name for tournament in Tournament.objects.all()] == ["young"]
    assert purge_deleted_tournaments.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
