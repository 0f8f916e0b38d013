"""Measuring of collapse by a job. Responses mark their step as due when they arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.db.models.functions import Left

from runs.models import Collapse, Response
from workers.analysis.collapse import Answer, measure

MAX_CHARACTERS = 8000
"""Characters of a response that are measured, so that 10 000 responses fit into the time of a job."""


def measure_due() -> bool:
    """Measure the responses that have waited longest. Return False if none wait."""
    due = Collapse.objects.raw("SELECT * FROM runs_collapse WHERE measured < arrived ORDER BY id LIMIT 1")
    for collapse in due:
        # The count was read before the responses, so responses that arrive meanwhile make the row due again.
        measures = measure(_answers(collapse))
        Collapse.objects.filter(pk=collapse.pk).update(
            measured=collapse.arrived, measures=None if measures is None else measures.to_json()
        )
        return True
    return False


def _answers(collapse: Collapse) -> Iterator[Answer]:
    """Yield every response of the step that has a text, by sample and prompt."""
    rows: Any = (
        Response.objects.filter(
            run=collapse.run_id, split=collapse.split, step=collapse.step, is_superseded=False, words__isnull=False
        )
        .order_by("sample", "prompt__name", "prompt_id")
        .values_list("prompt_id", "prompt__text", Left("text", MAX_CHARACTERS), "is_truncated", "sample")
    )
    for prompt, question, text, is_cut, sample in rows:
        yield Answer(prompt, question or f"#{prompt}", text, is_cut, sample)


def measure_all_due(seconds: float) -> None:
    """Measure due steps one after another, until none is due or the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and measure_due():
        pass
