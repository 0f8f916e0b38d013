"""Celery's tasks of boards."""

from __future__ import annotations

from celery import shared_task

from judging.boards.schedule import LOCK, work_through
from judging.locks import LONGEST_SECONDS, run_alone


@shared_task(name="judging.jobs.keep_boards", soft_time_limit=LONGEST_SECONDS - 20, time_limit=LONGEST_SECONDS)  # type: ignore[untyped-decorator]
def keep_boards() -> None:
    """Compute the boards that are due. Do nothing while another process does it."""
    with run_alone(LOCK) as is_alone:
        if is_alone:
            work_through()
