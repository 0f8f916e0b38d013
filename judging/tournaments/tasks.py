"""Celery tasks of tournaments."""

from __future__ import annotations

from celery import shared_task

from judging.tournaments.commands import purge_trash


@shared_task(name="judging.jobs.purge_bin")  # type: ignore[untyped-decorator]
def purge_deleted_tournaments() -> None:
    """Delete the tournaments whose time in the trash is over."""
    purge_trash()
