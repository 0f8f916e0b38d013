"""Celery tasks of boards."""

from __future__ import annotations

from celery import shared_task

from judging.boards.schedule import LOCK, compute_due_boards
from judging.locks import MAX_SECONDS, run_alone


@shared_task(name="judging.jobs.keep_boards", soft_time_limit=MAX_SECONDS - 20, time_limit=MAX_SECONDS)  # type: ignore[untyped-decorator]
def update_boards() -> None:
    """Compute the boards that are due. Do nothing while another process does it."""
    with run_alone(LOCK) as is_alone:
        if is_alone:
            compute_due_boards()
