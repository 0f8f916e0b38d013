"""The end of an attempt's files: everything in them is in the database, and nothing more will come."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from runs.ingest.once import OffsetMoved
from runs.models import Attempt, AttemptEvent, RecordFile


def close_files(attempt: Attempt, ends: Mapping[int, int], cut_off: Mapping[int, int]) -> None:
    """Mark the attempt as drained.

    `ends`: epoch -> byte after the last whole line of its file; `cut_off`: epoch -> bytes after that, left by a kill.
    Raise OffsetMoved where the database has not read a file to its end.
    """
    with transaction.atomic():
        offsets = dict(RecordFile.objects.filter(attempt=attempt).values_list("epoch", "offset"))
        for epoch, end in sorted(ends.items()):
            if (offset := offsets.get(epoch, 0)) != end:
                raise OffsetMoved(attempt.key, epoch, offset, end)
        for epoch, size in sorted(cut_off.items()):
            why = f"The last line of records.{epoch}.jsonl was cut off after {size} bytes: one record is lost"
            AttemptEvent.objects.create(attempt=attempt, level="warning", why=why)
        Attempt.objects.filter(pk=attempt.pk).update(drained_at=timezone.now())
