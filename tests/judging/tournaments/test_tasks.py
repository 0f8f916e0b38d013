"""The bin of tournaments empties by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Tournament
from judging.tournaments.tasks import purge_bin


@pytest.mark.django_db
def test_what_has_lain_in_the_bin_for_its_time_is_removed(ada: User) -> None:
    for name, days in (("old", 31), ("young", 29)):
        Tournament.objects.create(
            name=name, owner=ada, seed=0, deleted_at=timezone.now() - timedelta(days=days), deleted_by=ada
        )

    purge_bin()

    assert [one.name for one in Tournament.objects.all()] == ["young"]
    assert purge_bin.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
