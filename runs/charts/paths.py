"""Draw two measures of the same evaluations against each other: each run's path through training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts import style
from runs.charts.absence import explain_absence
from runs.charts.axes import ChartOptions
from runs.charts.chart import MEASURED, Chart, numbers
from runs.charts.descriptions import describe_groups, no_common_point, until_in_words
from runs.charts.groups import Curves, Group, line, look
from runs.charts.measurement import averaged, ways_of
from runs.metrics import Provenances
from runs.metrics.catalogue import Metric
from runs.models import Run
from runs.tables import Cell, Table, number, share
from workers.analysis.aggregate import Floats
from workers.analysis.keys import KL, REWARD, RIGHT
from workers.analysis.last_values import last_values


@dataclass(frozen=True)
class _Path:
    """The points of a run at which both measures have a value: their position `at` on the chosen axis, x and y, each
    float64[points]."""

    at: Floats
    x: Floats
    y: Floats


def paths_chart(
    x: Metric,
    y: Metric,
    groups: Sequence[Group],
    visible: set[int],
    curves: Curves,
    options: ChartOptions,
    provenances: Provenances = MappingProxyType({}),
    letters: Mapping[int, str] = MappingProxyType({}),
) -> Chart:
    """Return the chart of each run's path: `y` against `x`. If the runs were measured differently, the points of a line
    state how its run was measured.

    letters: run id -> the letter at the end of its line. With letters, the summary describes runs and not groups.
    """
    _, mixed = averaged(groups, (x.key, y.key), curves, provenances)
    runs = [run for g in groups for run in g.runs]
    differs = any(len(ways_of(runs, key, curves, provenances)) > 1 for key in (x.key, y.key))
    data, ends = [], []
    table: list[tuple[Cell, ...]] = []
    for g in groups:
        paths = [(run, _path(curves, run.pk, x.key, y.key)) for run in g.runs]
        paths = [(run, path) for run, path in paths if len(path.at)]
        ways = {run.pk: _ways_in_words(run, x, y, provenances) if differs else "" for run, _ in paths}
        drawn = [(run, path) for run, path in paths if run.pk in visible]
        data += [_path_trace(g, run, path, ways[run.pk], (x, y), letters) for run, path in drawn]
        table += [row for run, path in paths for row in _rows(g, run, path, (x.key, y.key), provenances)]
        averaged_paths = [path for run, path in paths if run in g.whole]
        if letters:
            ends += [_describe_end(letters.get(run.pk, run.name), x, y, [path], options.x) for run, path in drawn]
        elif averaged_paths and g not in mixed:
            ends.append(_describe_end(g.name, x, y, averaged_paths, options.x, counts=True))
    log_x, log_y = options.is_log(x.key), options.is_log(y.key) and any(v and v > 0 for t in data for v in t["y"])
    layout = style.layout(
        x.unit or x.key, y.unit or y.key, hovermode="closest", meta={"x": x.key}, log_x=log_x, log_y=log_y
    )
    for axis, measure in (("x", x), ("y", y)):
        layout[f"{axis}axis"] |= {"tickformat": ".0%"} if measure.is_share else {}
    for axis, is_log in (("x", log_x), ("y", log_y)):
        data = [style.without_nonpositive(trace, axis) for trace in data] if is_log else data
    summary = describe_groups(y.key, ends) if table else explain_absence((x.key, y.key), runs, curves, options.x)
    columns = ("group", "run", x.name, y.name, f"{MEASURED} {x.name}", f"{MEASURED} {y.name}")
    return Chart("", "", summary, {"data": data, "layout": layout}, Table(columns, tuple(table)), keys=(y.key, x.key))


def _rows(
    group: Group, run: Run, path: _Path, keys: tuple[str, str], provenances: Provenances
) -> list[tuple[Cell, ...]]:
    ways = [provenances.get((run.pk, key)) for key in keys]
    return [(group.name, run.name, float(x), float(y), *ways) for x, y in zip(path.x, path.y, strict=True)]


def _ways_in_words(run: Run, x: Metric, y: Metric, provenances: Provenances) -> str:
    """Return the ways in which both measures of a run were measured; "" if unknown."""
    if any((run.pk, measure.key) not in provenances for measure in (x, y)):
        return ""
    return "; ".join(f"{_short(measure)}: {provenances[run.pk, measure.key].words}" for measure in (x, y))


def _short(measure: Metric) -> str:
    """Return the name of a measure inside a sentence."""
    return {REWARD: gettext("reward"), KL: "KL", RIGHT: gettext("right answers")}.get(measure.key, measure.key)


def _describe_end(
    name: str, x: Metric, y: Metric, paths: Sequence[_Path], axis: str, counts: bool = False
) -> tuple[str, float]:
    """Return the sentence about the means at the last point that all paths of a run or a group have, and the mean of y
    there; NaN if they have none in common. counts: whether it has the number of paths."""
    n, shares_points = len(paths), axis == "step"
    end = last_values([(path.at, path.y) for path in paths], share_points=shares_points)
    if end.x is None:
        return f"{name} {no_common_point(n)}", math.nan
    at_x = float(last_values([(path.at, path.x) for path in paths], share_points=shares_points).values.mean())
    at_y = float(end.values.mean())
    count = until_in_words(n, end.x, max(end.ends), axis) if end.is_uneven else f"n = {n}"
    params = {
        "name": name, "y": _short(y), "at_y": _written(y, at_y), "x": _short(x), "at_x": _written(x, at_x),
        "count": count,
    }  # fmt: skip
    if not counts:
        return gettext("%(name)s is at %(y)s %(at_y)s, %(x)s %(at_x)s") % params, at_y
    return gettext("%(name)s is at %(y)s %(at_y)s, %(x)s %(at_x)s (%(count)s)") % params, at_y


def _written(measure: Metric, value: float) -> str:
    return share(value) if measure.is_share else number(value)


def _path(curves: Curves, run_id: int, x_key: str, y_key: str) -> _Path:
    """Return the points where both were measured."""
    if (run_id, x_key) not in curves or (run_id, y_key) not in curves:
        return _Path(np.zeros(0), np.zeros(0), np.zeros(0))
    (x_at, x), (y_at, y) = line(curves[run_id, x_key]), line(curves[run_id, y_key])
    at, i, j = np.intersect1d(x_at, y_at, return_indices=True)
    finite = np.isfinite(at) & np.isfinite(x[i]) & np.isfinite(y[j])
    return _Path(at[finite], x[i][finite], y[j][finite])


def _path_trace(
    group: Group, run: Run, path: _Path, ways: str, measures: tuple[Metric, Metric], letters: Mapping[int, str]
) -> dict[str, Any]:
    x, y = measures
    stroke = style.paint(group.colour)
    sizes = [3] * (len(path.at) - 1) + [10]
    hover = gettext("%(y)s %(at_y)s at %(x)s %(at_x)s") % {
        "y": _short(y), "at_y": "%{y:.0%}" if y.is_share else "%{y:.4g}", "x": _short(x),
        "at_x": "%{x:.0%}" if x.is_share else "%{x:.3g}",
    }  # fmt: skip
    rim = {"width": 1.5 if group.is_open else 0}
    letter = letters.get(run.pk, "")
    text = {"text": [""] * (len(path.at) - 1) + [f" {letter}"], "textposition": "middle right", "cliponaxis": False}
    return {
        **look(group), **(text if letter else {}), "mode": "lines+markers+text" if letter else "lines+markers",
        "name": f"{letter} · {run.name}" if letter else f"{group.name}, {run.name}",
        "meta": {"colour": group.colour, "alpha": 1}, "x": numbers(path.x), "y": numbers(path.y),
        "hovertemplate": f"{hover}<br>{ways}" if ways else hover,
        "line": {"color": stroke, "width": 1, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": sizes, "line": rim},
    }  # fmt: skip
