"""Celery task of scoring."""

from __future__ import annotations

from celery import shared_task

from runs.responses.scoring.worker import work_through


@shared_task(name="runs.jobs.score_answers")  # type: ignore[untyped-decorator]
def score_answers() -> None:
    """Score responses afterwards for at most 10 seconds; the next task continues."""
    work_through(10)
