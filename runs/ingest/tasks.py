"""Celery's task of ingest."""

from __future__ import annotations

from celery import shared_task

from runs.ingest.compaction import compact_loose


@shared_task(name="runs.jobs.compact_series")  # type: ignore[untyped-decorator]
def compact_series() -> None:
    """Merge batches of points into chunks, for half a minute at most; the next task continues."""
    compact_loose(seconds=30)
