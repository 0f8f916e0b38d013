"""A run as the API describes it."""

from __future__ import annotations

import numpy as np

from runs import metrics
from runs.api.shapes import AttemptOut, RunDetail
from runs.models import Run


def run_detail(run: Run) -> RunDetail:
    """Return a run as JSON, with its attempts and the newest value of each key."""
    attempts = [AttemptOut.of(attempt) for attempt in run.attempts.order_by("n")]
    newest = metrics.latest([run])[run.pk]
    values = metrics.sayable(np.array(list(newest.values()), np.float64))
    shown: RunDetail = RunDetail.of(run, attempts=attempts, latest=dict(zip(newest, values, strict=True)))
    return shown
