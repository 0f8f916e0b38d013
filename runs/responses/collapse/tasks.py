"""Celery task of collapse measurement."""

from __future__ import annotations

from celery import shared_task

from runs.responses.collapse.measure import measure_all_due


@shared_task(name="runs.jobs.measure_collapse")  # type: ignore[untyped-decorator]
def measure_collapse() -> None:
    """Measure collapse for at most 20 seconds; the next task continues."""
    measure_all_due(seconds=20)
