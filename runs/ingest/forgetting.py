"""Takes back all that was recorded of a run, so that it can be recorded anew in the same transaction."""

from __future__ import annotations

from django.db import transaction

from runs.ingest.compacting import keep_last_step
from runs.ingest.locking import lock
from runs.models import Run


def forget(run: Run) -> None:
    """Removes the run's attempts with their records, and what tables show of its series."""
    with transaction.atomic():
        lock(run.pk, durable=True)
        run.attempts.all().delete()
        run.series.all().delete()
        run.collapses.all().delete()
        keep_last_step(run.pk)
