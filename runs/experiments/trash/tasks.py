"""Celery task of the trash."""

from __future__ import annotations

from celery import shared_task

from runs.experiments.trash.commands import purge_trash


@shared_task(name="runs.jobs.purge_bin")  # type: ignore[untyped-decorator]
def purge_bin() -> None:
    """Delete for good the objects whose time in the trash is over."""
    purge_trash()
