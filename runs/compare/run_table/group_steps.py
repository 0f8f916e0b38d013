"""Means of groups over values at a step, which are read from the points of the groups' runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from runs import metrics
from runs.compare.run_table.columns import Column
from runs.compare.run_table.spreads import Spread
from runs.compare.run_table.step_values import MAX_STEP_RUNS, StepValue, step_values
from runs.metrics import Floats
from runs.models import Run

Members = tuple[int, ...]


def step_spreads(groups: Sequence[Members | None], columns: Sequence[Column]) -> list[dict[str, Spread]]:
    """Return column key -> spread for each group, given as the ids of its runs; None if they are too many. Two queries.

    The points of at most MAX_STEP_RUNS runs are read: those of the first groups that fit.
    """
    groups = _within_limit(groups)
    ids = [pk for members in groups for pk in members or ()]
    runs = {run.pk: run for run in metrics.with_origins(Run.objects.filter(pk__in=ids)).only("pk", "config")}
    values, origins = step_values(list(runs.values()), columns), metrics.origins_of(runs.values())
    measured = metrics.provenances(runs.values(), {column.metric for column in columns}, origins)
    return [{column.key: _spread(members, column, values, measured) for column in columns} for members in groups]


def _within_limit(groups: Iterable[Members | None]) -> list[Members | None]:
    left, chosen = MAX_STEP_RUNS, list[Members | None]()
    for members in groups:
        fits = members is not None and len(members) <= left
        left -= len(members) if members is not None and fits else 0
        chosen.append(members if fits else None)
    return chosen


def _spread(
    members: Members | None,
    column: Column,
    values: Mapping[tuple[int, str], StepValue],
    measured: metrics.Provenances,
) -> Spread:
    if members is None:
        return Spread(0, None, None, is_unread=True)
    points = {pk: point.value for pk in members if (point := values.get((pk, column.key))) is not None}
    numbers = {pk: value for pk, value in points.items() if not math.isnan(value)}
    ways = metrics.ways(measured.get((pk, column.metric)) for pk in numbers)
    if len(ways) > 1:
        return Spread(len(numbers), None, None, ways)
    return Spread(len(numbers), *_mean_and_deviation(np.array(list(numbers.values()), np.float64)))


def _mean_and_deviation(series: Floats) -> tuple[float | None, float | None]:
    """Return the mean and the sample deviation of float64[n]; None for what n is too small for."""
    if not len(series):
        return None, None
    if (series == series[0]).all():
        # Without rounding errors.
        return float(series[0]), 0.0 if len(series) > 1 else None
    with np.errstate(invalid="ignore"):
        return float(series.mean()), float(series.std(ddof=1))
