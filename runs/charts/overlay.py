"""Charts of one key of several runs: a line for each run with its letter at the end, along any x axis.

Smoothing is computed over all points, before down-sampling, so it does not depend on the width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts import style
from runs.charts.absence import explain_absence
from runs.charts.axes import ChartOptions
from runs.charts.chart import MEASURED, Chart, numbers, places
from runs.charts.descriptions import (
    course,
    describe_groups,
    far_extreme,
    no_common_point,
    until_in_words,
    value_format,
)
from runs.charts.group_charts import measure_of
from runs.charts.groups import line, look
from runs.charts.line_ends import LineData, end_letters, ends
from runs.charts.marks import Mark
from runs.charts.run_lines import MAX_MARKERS
from runs.charts.scales import is_logarithmic, line_layout, log_words, on_scales
from runs.metrics import Curve, Provenances, is_held_out, m4
from runs.tables import Cell, Table
from workers.analysis.aggregate import Floats
from workers.analysis.last_values import LastValues, last_values
from workers.analysis.smoothing import smooth

MAX_LISTED_LINES = 3


def overlay(
    key: str,
    marks: Sequence[Mark],
    curves: Mapping[tuple[int, str], Curve],
    options: ChartOptions,
    provenances: Provenances = MappingProxyType({}),
) -> Chart:
    """Return the chart of one key. `curves` are whole, by (run id, key); runs without a point of the key have no line.
    The table of a held-out key states each run's measurement, as far as `provenances` holds it."""
    measure = measure_of(key)
    lines = [_line_data(mark, curves[mark.run.pk, key], options) for mark in marks if (mark.run.pk, key) in curves]
    lines = [line_data for line_data in lines if len(line_data.x)]
    values = [line_data.y for line_data in lines]
    log_y = is_logarithmic(key, values, options)
    thinned_lines = _thinned(lines, options)
    labels = ends(thinned_lines, log_y)
    data = [trace for line_data in thinned_lines for trace in _traces(line_data, key, options)]
    data = on_scales([*data, *end_letters(labels, options.x)], log_x=options.has_log_x, log_y=log_y)
    format_value = value_format(key, measure.is_share)
    words = _words(key, lines, format_value, options.x)
    if not words:
        words = explain_absence((key,), [mark.run for mark in marks], curves, options.x)
    summary = f"{words}{log_words(key, values, options)}"
    is_thinned = sum(len(line_data.x) for line_data in thinned_lines) < sum(len(line_data.x) for line_data in lines)
    layout = line_layout(measure, values, options, thinned=is_thinned)
    layout["margin"] = {**layout["margin"], "r": 16 + 7 * max((len(end.text) for end in labels), default=0)}
    figure = {"data": data, "layout": layout}
    table = _table(thinned_lines, options, key, provenances)
    return Chart(key, measure.title, summary, figure, table, keys=(key,), help=measure.help)


def _line_data(mark: Mark, curve: Curve, options: ChartOptions) -> LineData:
    x, y = line(curve)
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return LineData(mark, x, y, smooth(x, y, options.smoothing) if options.smoothing else y)


def _thinned(lines: Sequence[LineData], options: ChartOptions) -> list[LineData]:
    """Return the lines down-sampled to common pixel columns, with the corners of the raw and the smoothed line."""
    px = options.px
    if px is None or not lines:
        return list(lines)
    span = min(float(d.x[0]) for d in lines), max(float(d.x[-1]) for d in lines)
    out = []
    for d in lines:
        plotted_values = (d.y, d.smoothed) if options.smoothing else (d.y,)
        indices = np.unique(np.concatenate([m4(d.x, y, px, span, zoom=options.zoom) for y in plotted_values]))
        out.append(LineData(d.mark, d.x[indices], d.y[indices], d.smoothed[indices]))
    return out


def _traces(line_data: LineData, key: str, options: ChartOptions) -> list[dict[str, Any]]:
    live = {"run": line_data.mark.run.uid, "key": key}
    if not options.smoothing:
        return [_line(line_data, line_data.y, options, live)]
    behind = _line(line_data, line_data.y, options, live, alpha=0.3)
    behind |= {"mode": "lines", "hoverinfo": "skip", "name": _raw(line_data.mark)}
    del behind["meta"]["label"]
    behind["line"] |= {"width": 1, "dash": "solid"}
    return [behind, _line(line_data, line_data.smoothed, options, {})]


def _raw(mark: Mark) -> str:
    return gettext("%(name)s, raw") % {"name": mark.name}


def _line(
    line_data: LineData, y: Floats, options: ChartOptions, live: dict[str, str], alpha: float = 1.0
) -> dict[str, Any]:
    group = line_data.mark.group
    stroke = style.paint(group.colour, alpha)
    return {
        **look(group), "legendgroup": line_data.mark.run.uid, "name": line_data.mark.name,
        "mode": "lines+markers" if len(y) <= MAX_MARKERS else "lines", "hoverinfo": "none",
        "meta": {**live, "colour": group.colour, "alpha": alpha, "label": line_data.mark.letter},
        "x": places(line_data.x, options.x), "y": numbers(y),
        "line": {"color": stroke, "width": 2, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _words(key: str, lines: Sequence[LineData], format_value: Callable[[float], str], axis: str) -> str:
    """Describe the course of each line; from four lines on, the range of a group's values at the last x that all of its
    lines have, with the farthest extreme of its lines if the ends alone would misrepresent a line (`far_extreme`).
    `describe_groups` selects the described groups. Empty without any value."""
    courses = [(line_data.mark, *_finite(line_data)) for line_data in lines]
    courses = [(mark, x, y) for mark, x, y in courses if len(y)]
    if not courses:
        return ""
    if len(courses) <= MAX_LISTED_LINES:
        return "; ".join(f"{mark.letter} {course(y, format_value, x, axis)}" for mark, x, y in courses) + "."
    lines_by_group: dict[str, list[tuple[Floats, Floats]]] = {}
    for mark, x, y in courses:
        lines_by_group.setdefault(mark.group.name, []).append((x, y))
    ends = {name: last_values(group, share_points=axis == "step") for name, group in lines_by_group.items()}
    described = [
        (f"{name} {_range(group, ends[name], format_value, axis)}", float(np.mean(ends[name].values)))
        for name, group in lines_by_group.items()
    ]
    return describe_groups(key, described)


def _finite(line_data: LineData) -> tuple[Floats, Floats]:
    """Return (x, y) of the points whose value is finite."""
    is_finite = np.isfinite(line_data.y)
    return line_data.x[is_finite], line_data.y[is_finite]


def _range(
    lines: Sequence[tuple[Floats, Floats]], end: LastValues, format_value: Callable[[float], str], axis: str
) -> str:
    """Describe the last values of a group of lines (x, y), and their farthest extreme if there is a far one."""
    if end.x is None:
        return no_common_point(len(lines))
    low, high = format_value(float(end.values.min())), format_value(float(end.values.max()))
    count = until_in_words(len(lines), end.x, max(end.ends), axis) if end.is_uneven else f"n = {len(lines)}"
    params = {"low": low, "high": high, "count": count}
    extremes = [extreme for x, y in lines if (extreme := far_extreme(y, x, format_value)) is not None]
    if not extremes:
        if low == high:
            return gettext("ends at %(low)s (%(count)s)") % params
        return gettext("ends at %(low)s to %(high)s (%(count)s)") % params
    extreme = max(extremes, key=lambda extreme: extreme.excess)
    if low == high and extreme.is_maximum:
        message = gettext("ends at %(low)s (%(count)s), with a maximum of %(extreme)s at %(position)s")
    elif low == high:
        message = gettext("ends at %(low)s (%(count)s), with a minimum of %(extreme)s at %(position)s")
    elif extreme.is_maximum:
        message = gettext("ends at %(low)s to %(high)s (%(count)s), with a maximum of %(extreme)s at %(position)s")
    else:
        message = gettext("ends at %(low)s to %(high)s (%(count)s), with a minimum of %(extreme)s at %(position)s")
    return message % {**params, **extreme.params(format_value, axis)}


def _table(lines: Sequence[LineData], options: ChartOptions, key: str, provenances: Provenances) -> Table:
    columns: tuple[str, ...] = ("letter", "run", "group", "seed", options.x, "value")
    columns += (f"smoothed {options.smoothing}",) if options.smoothing else ()
    rows: list[tuple[Cell, ...]] = []
    for d in lines:
        run_cells = (d.mark.letter, d.mark.run.name, d.mark.group.name, d.mark.run.seed)
        points = np.column_stack([d.x, d.y, d.smoothed][: 3 if options.smoothing else 2]).tolist()
        way = (provenances.get((d.mark.run.pk, key)),) if is_held_out(key) else ()
        rows += [(*run_cells, *point, *way) for point in points]
    return Table((*columns, MEASURED) if is_held_out(key) else columns, tuple(rows))
