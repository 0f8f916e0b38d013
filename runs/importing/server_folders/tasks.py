"""Celery's task of folders of this server."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from runs.importing.server_folders.look import look_at_due_folders


@shared_task(  # type: ignore[untyped-decorator]
    name="runs.jobs.import_server_folders",
    soft_time_limit=settings.IMPORT_SECONDS + 30,
    time_limit=settings.IMPORT_SECONDS + 60,
)
def import_server_folders() -> None:
    """Import the folders that are due; one that takes long is claimed meanwhile."""
    look_at_due_folders()
