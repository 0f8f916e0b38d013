"""Celery tasks of panels."""

from __future__ import annotations

from celery import shared_task

from judging.boards.panels.snapshots import compute_panels
from judging.locks import MAX_SECONDS
from judging.models import Tournament


@shared_task(name="judging.jobs.work_out_panels", soft_time_limit=MAX_SECONDS - 20, time_limit=MAX_SECONDS)  # type: ignore[untyped-decorator]
def work_out_panels(tournament: int, rubric: int) -> None:
    """Compute the panels that a page waits for. Do nothing if the tournament was deleted meanwhile."""
    if tournament_row := Tournament.objects.filter(pk=tournament, rubrics=rubric).first():
        compute_panels(tournament_row, tournament_row.rubrics.get(pk=rubric))
