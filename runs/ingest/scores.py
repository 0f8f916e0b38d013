"""Scores given to answers after the run: kept beside the run's own numbers, one for each scorer, key and answer."""

from __future__ import annotations

import math
from collections.abc import Iterable

from django.utils import timezone

from runs.models import Score

Given = tuple[int, str, float]
"""(primary key of the response, what is scored, such as reward or cost, the score)."""


def keep_scores(scorer: str, given: Iterable[Given]) -> int:
    """Writes the scores, over earlier ones of the same scorer; returns how many. Raises ValueError for what is none."""
    rows = [_row(scorer, *one) for one in given]
    Score.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["scorer", "key", "response"], update_fields=["value", "at"]
    )
    return len(rows)


def _row(scorer: str, response: int, key: str, value: float) -> Score:
    if not math.isfinite(value):
        raise ValueError(f"{scorer} gave the {key} {value}, which is no score")
    return Score(response_id=response, scorer=scorer, key=key, value=value, at=timezone.now())
