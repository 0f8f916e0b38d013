"""Celery task of flags."""

from __future__ import annotations

from celery import shared_task

from runs.flags.check import check_all_due


@shared_task(name="runs.jobs.check_flags")  # type: ignore[untyped-decorator]
def check_flags() -> None:
    """Apply the detectors to runs that are due, for at most 20 seconds; the next task continues."""
    check_all_due(seconds=20)
