"""Celery task of judge runs."""

from __future__ import annotations

from celery import shared_task

from judging.judge_runs.worker import work_on_all
from judging.locks import MAX_SECONDS


@shared_task(name="judging.jobs.ask_judges", soft_time_limit=MAX_SECONDS - 20, time_limit=MAX_SECONDS)  # type: ignore[untyped-decorator]
def ask_judges() -> None:
    """Continue every assignment that is running."""
    work_on_all()
