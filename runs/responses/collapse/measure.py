"""What answers have in common: noted as due with the answers, measured later by a job, as often as needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.db.models.functions import Left

from runs.models import Collapse, Response
from workers.analysis.collapse import Answer, measure

CHARACTERS = 8000
"""Of a longer answer only these are looked at: what 10 000 answers take stays within the time of a job."""


def measure_due() -> bool:
    """Measures the answers that have waited longest; False where none wait."""
    due = Collapse.objects.raw("SELECT * FROM runs_collapse WHERE measured < arrived ORDER BY id LIMIT 1")
    for one in due:
        # The count was read before the answers: what comes meanwhile makes it due again.
        found = measure(_answers(one))
        Collapse.objects.filter(pk=one.pk).update(
            measured=one.arrived, measures=None if found is None else found.to_json()
        )
        return True
    return False


def _answers(of: Collapse) -> Iterator[Answer]:
    """Every sample of every prompt; of answers without a text none."""
    rows: Any = (
        Response.objects.filter(run=of.run_id, split=of.split, step=of.step, is_superseded=False, words__isnull=False)
        .order_by("sample", "prompt__name", "prompt_id")
        .values_list("prompt_id", "prompt__text", Left("text", CHARACTERS), "is_truncated", "sample")
    )
    for prompt, question, text, is_cut, sample in rows:
        yield Answer(prompt, question or f"#{prompt}", text, is_cut, sample)


def measure_all_due(seconds: float) -> None:
    """Measure what is due, piece by piece, until nothing is or the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and measure_due():
        pass
