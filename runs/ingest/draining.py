"""The end of an attempt's files: everything in them is in the database, and nothing more will come."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from runs.models import Attempt, AttemptEvent


def close_files(attempt: Attempt, cut_off: Mapping[int, int]) -> None:
    """Notes that the attempt is drained. `cut_off`: epoch -> bytes after its last whole line, left by a kill."""
    with transaction.atomic():
        for epoch, size in sorted(cut_off.items()):
            why = f"The last line of records.{epoch}.jsonl was cut off after {size} bytes: one record is lost"
            AttemptEvent.objects.create(attempt=attempt, level="warning", why=why)
        Attempt.objects.filter(pk=attempt.pk).update(drained_at=timezone.now())
