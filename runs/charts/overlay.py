"""One key of several runs on one chart: a line a run with its letter at the end, smoothed or not, along any x axis.

Smoothing is computed here, over all points, before any are left out to fit the screen: it never depends on the width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext

from runs.charts import style
from runs.charts.axes import MEASURES, Measure
from runs.charts.chart import MEASURED, X_WORDS, Cell, Chart, Table, course, number, numbers, share, spoken
from runs.charts.groups import line, look
from runs.charts.line_ends import Drawn, End, ends
from runs.charts.marks import Mark
from runs.charts.run_lines import MARKERS_AT_MOST
from runs.metrics import Curve, Provenances, Span, is_held_out, m4
from workers.analysis.middles import Floats
from workers.analysis.smoothing import Smoothing, smooth

SPELT_OUT_AT_MOST = 3
MAIN_KEYS = tuple(measure.key for measure in MEASURES)
RAW = Smoothing()


@dataclass(frozen=True)
class OverlayOptions:
    """Describe how the reader wants to see a chart. px: the width that lines are thinned to, None for every point.
    zoom: the x range that is looked at."""

    x: str = "step"
    log_y: bool = False
    smoothing: Smoothing = RAW
    px: int | None = None
    zoom: Span | None = None


def overlay(
    key: str,
    marks: Sequence[Mark],
    curves: Mapping[tuple[int, str], Curve],
    how: OverlayOptions,
    measured: Provenances = MappingProxyType({}),
) -> Chart:
    """The chart of one key. `curves` are whole, by (run id, key); runs without a point of the key have no line. The
    table of a held-out key says how each run was measured, as far as `measured` does."""
    measure = _measure(key)
    lines = [_drawn(mark, curves[mark.run.pk, key], how) for mark in marks if (mark.run.pk, key) in curves]
    lines = [drawn for drawn in lines if len(drawn.x)]
    log_y = how.log_y and any((drawn.y > 0).any() for drawn in lines)
    shown = _thinned(lines, how)
    labels = ends(shown, log_y)
    data = [trace for drawn in shown for trace in _traces(drawn, key, how)] + _letters(labels, how)
    data = [style.without_nonpositive(trace, "y") for trace in data] if log_y else data
    said = share if measure.is_share else number
    summary = f"{_words(lines, said)}{_log_words(lines, how, log_y)}"
    layout = _layout(measure, shown, how, log_y)
    layout["meta"]["thinned"] = sum(len(drawn.x) for drawn in shown) < sum(len(drawn.x) for drawn in lines)
    layout["margin"] = {**layout["margin"], "r": 16 + 7 * max((len(end.text) for end in labels), default=0)}
    figure = {"data": data, "layout": layout}
    table = _table(shown, how, key, measured)
    return Chart(key, measure.title, summary, figure, table, keys=(key,), help=measure.help)


def _measure(key: str) -> Measure:
    known = next((measure for measure in MEASURES if measure.key == key), None)
    return known.spoken() if known else Measure(key, key, key, "", "")


def _drawn(mark: Mark, curve: Curve, how: OverlayOptions) -> Drawn:
    x, y = line(curve)
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return Drawn(mark, x, y, smooth(x, y, how.smoothing) if how.smoothing else y)


def _thinned(lines: Sequence[Drawn], how: OverlayOptions) -> list[Drawn]:
    """The lines on the pixel columns that they share, with the corners of the raw line and of the smoothed one."""
    px = how.px
    if px is None or not lines:
        return list(lines)
    span = min(float(d.x[0]) for d in lines), max(float(d.x[-1]) for d in lines)
    out = []
    for d in lines:
        seen = (d.y, d.smoothed) if how.smoothing else (d.y,)
        kept = np.unique(np.concatenate([m4(d.x, y, px, span, zoom=how.zoom) for y in seen]))
        out.append(Drawn(d.mark, d.x[kept], d.y[kept], d.smoothed[kept]))
    return out


def _traces(drawn: Drawn, key: str, how: OverlayOptions) -> list[dict[str, Any]]:
    live = {"run": drawn.mark.run.uid, "key": key}
    if not how.smoothing:
        return [_line(drawn, drawn.y, how, live)]
    behind = _line(drawn, drawn.y, how, live, alpha=0.3)
    behind |= {"mode": "lines", "hoverinfo": "skip", "hovertemplate": None, "name": _raw(drawn.mark)}
    behind["line"] |= {"width": 1, "dash": "solid"}
    return [behind, _line(drawn, drawn.smoothed, how, {})]


def _raw(mark: Mark) -> str:
    return gettext("%(name)s, raw") % {"name": mark.name}


def _line(drawn: Drawn, y: Floats, how: OverlayOptions, live: dict[str, str], alpha: float = 1.0) -> dict[str, Any]:
    group = drawn.mark.group
    stroke = style.paint(group.colour, alpha)
    return {
        **look(group), "legendgroup": drawn.mark.run.uid, "name": drawn.mark.name,
        "mode": "lines+markers" if len(y) <= MARKERS_AT_MOST else "lines", "hovertemplate": "%{y:.5g}",
        "meta": {**live, "colour": group.colour, "alpha": alpha}, "x": _places(drawn.x, how), "y": numbers(y),
        "line": {"color": stroke, "width": 2, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _letters(labels: Sequence[End], how: OverlayOptions) -> list[dict[str, Any]]:
    """The runs' letters at the ends of their lines, so that a line needs no colour to be known."""
    if not labels:
        return []
    return [{
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "cliponaxis": False,
        "name": gettext("letters of the runs"),
        "x": _places(np.array([end.x for end in labels]), how), "y": numbers(end.y for end in labels),
        "text": [f" {end.text}" for end in labels], "textposition": "middle right",
    }]  # fmt: skip


def _places(x: Floats, how: OverlayOptions) -> list[float]:
    """x as the page draws it: times of day in milliseconds since 1970, which is what a date axis takes."""
    return [round(1000 * v) for v in x.tolist()] if how.x == "wall" else [float(f"{v:.10g}") for v in x.tolist()]


def _layout(measure: Measure, shown: Sequence[Drawn], how: OverlayOptions, log_y: bool) -> dict[str, Any]:
    layout = style.layout(spoken(X_WORDS[how.x]), measure.unit, log_y=log_y, meta={"x": how.x})
    # The nearest point, however far: a cursor that another chart shares seldom falls on a point of this one.
    layout["hoverdistance"] = -1
    if how.x == "wall":
        layout["xaxis"] |= {"type": "date", "exponentformat": "none"}
    if measure.is_share:
        layout["yaxis"]["tickformat"] = ".0%"
    if shown and not log_y:
        layout["yaxis"] |= style.room(np.concatenate([drawn.y for drawn in shown]), measure.is_share)
    return layout


def _words(lines: Sequence[Drawn], said: Callable[[float], str]) -> str:
    """State the first and last value of each line; from four lines on, the range in which each group ends."""
    ends = [(drawn.mark, _finite(drawn.y)) for drawn in lines]
    ends = [(mark, y) for mark, y in ends if len(y)]
    if not ends:
        return gettext("No run has measured this yet.")
    if len(ends) <= SPELT_OUT_AT_MOST:
        return "; ".join(f"{mark.letter} {course(y, said)}" for mark, y in ends) + "."
    last: dict[str, list[float]] = {}
    for mark, y in ends:
        last.setdefault(mark.group.name, []).append(float(y[-1]))
    return "; ".join(f"{name} {_range(values, said)}" for name, values in last.items()) + "."


def _finite(y: Floats) -> Floats:
    good = np.isfinite(y)
    return y if good.all() else y[good]


def _range(values: Sequence[float], said: Callable[[float], str]) -> str:
    low, high = said(min(values)), said(max(values))
    ends = {"low": low, "high": high, "n": len(values)}
    if low == high:
        return gettext("ends at %(low)s (n = %(n)s)") % ends
    return gettext("ends at %(low)s to %(high)s (n = %(n)s)") % ends


def _log_words(lines: Sequence[Drawn], how: OverlayOptions, log_y: bool) -> str:
    """State how many values a logarithmic scale leaves out, or that the scale is linear because no value is above 0.
    Return an empty text if neither is the case."""
    if not how.log_y or not lines:
        return ""
    if not log_y:
        return " " + gettext("Drawn on a linear scale: no value is above 0.")
    lost = sum(int((drawn.y <= 0).sum()) for drawn in lines)
    said = ngettext(
        "%(n)s value is not above 0 and not drawn on this scale.",
        "%(n)s values are not above 0 and not drawn on this scale.",
        lost,
    )
    return f" {said % {'n': lost}}" if lost else ""


def _table(lines: Sequence[Drawn], how: OverlayOptions, key: str, measured: Provenances) -> Table:
    columns: tuple[str, ...] = ("letter", "run", "group", "seed", how.x, "value")
    columns += (f"smoothed {how.smoothing}",) if how.smoothing else ()
    rows: list[tuple[Cell, ...]] = []
    for d in lines:
        who = (d.mark.letter, d.mark.run.name, d.mark.group.name, d.mark.run.seed)
        points = np.column_stack([d.x, d.y, d.smoothed][: 3 if how.smoothing else 2]).tolist()
        way = (measured.get((d.mark.run.pk, key)),) if is_held_out(key) else ()
        rows += [(*who, *point, *way) for point in points]
    return Table((*columns, MEASURED) if is_held_out(key) else columns, tuple(rows))
