"""Celery's tasks of tournaments."""

from __future__ import annotations

from celery import shared_task

from judging.tournaments.commands import purge


@shared_task(name="judging.jobs.purge_bin")  # type: ignore[untyped-decorator]
def purge_bin() -> None:
    """Delete the tournaments whose time in the trash is over."""
    purge()
