"""Values of metrics at a step, such as `kl@100`: that of the newest point at or before the step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from runs import metrics
from runs.compare.run_table.columns import Column, Kind
from runs.metrics import Curve
from runs.models import Run

MAX_STEP_RUNS = 1000
"""Most runs of which points are read for one table."""


@dataclass(frozen=True)
class StepValue:
    """The value of a metric, and the step of the point that holds it."""

    value: float
    step: int


def step_columns(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that show a value at a step."""
    return [column for column in columns if column.kind is Kind.STEP_VALUE]


def step_values(runs: Sequence[Run], columns: Iterable[Column]) -> dict[tuple[int, str], StepValue]:
    """Return (run id, column key) -> the value at the column's step, without runs that have none yet.

    Points that a resume has overwritten do not count. One query, however many runs; none without such columns.
    """
    wanted = step_columns(columns)
    if not wanted or not runs:
        return {}
    curves = {(curve.run_id, curve.key): curve for curve in metrics.read(runs, [column.metric for column in wanted])}
    values = {
        (run.pk, column.key): _value_at(curve, column.step or 0)
        for column in wanted
        for run in runs
        if (curve := curves.get((run.pk, column.metric))) is not None
    }
    return {place: value for place, value in values.items() if value is not None}


def _value_at(curve: Curve, step: int) -> StepValue | None:
    """Return the newest point at or before the step; None if there is none."""
    places = np.flatnonzero((curve.x <= step) & ~curve.overwritten)
    if not places.size:
        return None
    newest = curve.x[places].max()
    place = places[curve.x[places] == newest][-1]
    return StepValue(float(curve.y[place]), int(newest))
