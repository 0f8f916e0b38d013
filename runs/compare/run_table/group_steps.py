"""Means of groups over values at a step, and at the last step that all runs of a group have: they are read from the
points of the groups' runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from runs import metrics
from runs.charts import GroupEnd, read_group_ends
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


def common_end_spreads(groups: Sequence[tuple[Members | None, str, Spread]]) -> list[Spread]:
    """Return the spread of each group's values at the last step that all of its runs have: groups are given as the ids
    of their runs, the key of the metric and the spread of the runs' own last values. One query; none without groups.

    The points of at most MAX_STEP_RUNS runs are read. A group beyond keeps the runs' own last values, and states it.
    """
    members = _within_limit([ids for ids, _, _ in groups])
    readable = [(ids, key) for ids, (_, key, _) in zip(members, groups, strict=True) if ids is not None]
    ends = iter(read_group_ends(readable))
    return [
        replace(own, has_own_ends=True) if ids is None else _at_common_end(own, next(ends))
        for ids, (_, _, own) in zip(members, groups, strict=True)
    ]


def _at_common_end(own: Spread, end: GroupEnd) -> Spread:
    values = np.array(list(end.values.values()), np.float64)
    last_steps = min(end.last_steps.values()), max(end.last_steps.values())
    if own.ways:
        return replace(own, n=len(values), step=end.step, last_steps=last_steps)
    return Spread(len(values), *_mean_and_deviation(values), step=end.step, last_steps=last_steps)


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
