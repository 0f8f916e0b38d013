"""Estimate how long a run will still take."""

from __future__ import annotations

import time

from runs import metrics
from runs.metrics import AXES
from runs.models import Attempt, Run
from workers.executors.states import State

RECENT_POINTS = 30
"""The speed between the newest points counts, at most this many: a run may become slower."""
SYSTEM = "system/"


def seconds_left(run: Run, attempt: Attempt | None, steps: int) -> float | None:
    """Return the seconds until the run's last step, `steps`, at the speed of its recent steps.

    Evaluations between the steps are included; what follows the last step is not. None if the run is not running, its
    number of steps is unknown (0), this attempt has not yet recorded two steps, a record has no time in Unix seconds,
    or the expected end has passed.
    """
    if attempt is None or attempt.started_at is None or run.state != State.RUNNING or not steps:
        return None
    series = run.series.exclude(key__startswith=AXES).exclude(key__startswith=SYSTEM).order_by("-last_step", "-points")
    if (newest := series.first()) is None:
        return None
    by_step, by_time = (metrics.read([run], [newest.key], x=axis) for axis in ("step", "wall"))
    if not by_step or not by_time:
        return None
    if len(by_step[0].x) != len(by_time[0].x):
        # Some records have no usable time.
        return None
    is_of_attempt = (by_time[0].x >= attempt.started_at.timestamp()) & ~by_time[0].overwritten
    recorded, times = (curve.x[is_of_attempt][-RECENT_POINTS:] for curve in (by_step[0], by_time[0]))
    if len(recorded) < 2 or recorded[-1] <= recorded[0]:
        return None
    seconds_per_step = float((times[-1] - times[0]) / (recorded[-1] - recorded[0]))
    expected_end = float(times[-1]) + (steps - float(recorded[-1])) * seconds_per_step
    left = expected_end - time.time()
    return left if left > 0 else None
