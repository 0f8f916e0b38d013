"""Celery's tasks of judge runs."""

from __future__ import annotations

from celery import shared_task

from judging.judge_runs.worker import work_on_all
from judging.locks import LONGEST_SECONDS


@shared_task(name="judging.jobs.ask_judges", soft_time_limit=LONGEST_SECONDS - 20, time_limit=LONGEST_SECONDS)  # type: ignore[untyped-decorator]
def ask_judges() -> None:
    """Continue every assignment that is running."""
    work_on_all()
