"""Charts of one run: a few of its curves each, with a sentence and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from runs.charts import style
from runs.charts.absence import no_values_along_axis
from runs.charts.axes import ChartOptions
from runs.charts.chart import MEASURED, Chart, numbers, places, spoken
from runs.charts.descriptions import course, far_extreme, value_format
from runs.charts.groups import line
from runs.charts.scales import is_logarithmic, line_layout, log_words, on_scales
from runs.metrics import Curve, Provenance, is_held_out, m4
from runs.metrics.catalogue import Metric
from runs.metrics.metric_charts import MetricChart, in_words
from runs.models import Run
from runs.tables import Cell, Table
from workers.analysis.smoothing import smooth

LINES = ("solid", "dash", "dot", "dashdot")
MAX_MARKERS = 30
DEFAULT_OPTIONS = ChartOptions()
LEGEND = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
SYMBOLS = ("circle", "square", "diamond", "cross")


@dataclass(frozen=True)
class Spec(MetricChart):
    """A chart of a run as it is drawn. `unit` is translated then. measured: provenance of the keys that an evaluation
    measured.

    `draw` draws a chart that does not consist of lines, from curves of `keys` and `also` with all their points.
    """

    measured: Mapping[str, Provenance] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()
    draw: Draw | None = None

    @classmethod
    def of(cls, chart: MetricChart) -> Spec:
        """Return the specification of a chart of the catalogue."""
        return cls(**vars(chart))

    def spoken(self) -> Spec:
        """Return the specification with its texts in the reader's language."""
        lines = tuple((key, gettext(name)) for key, name in self.lines)
        return replace(self, title=gettext(self.title), lines=lines, help=in_words(self.help))

    def waiting(self) -> Chart:
        """Return the chart before it is drawn, without a figure."""
        return Chart(self.name, self.title, "", {}, Table((), ()), self.keys, self.help)

    def empty(self, axis: str) -> Chart:
        """Return the chart of keys that have no points along an axis."""
        return replace(self.waiting(), summary=no_values_along_axis(axis), figure={"data": [], "layout": {}})


Draw: TypeAlias = Callable[[Spec, Mapping[str, Curve], str, int | None], Chart]
"""Function (spec, curves, x axis, px: width of the chart, None for a table of all points) -> chart."""


def draw_charts(
    run: Run,
    specs: Iterable[Spec],
    curves: Mapping[str, Curve],
    options: ChartOptions = DEFAULT_OPTIONS,
) -> tuple[Chart, ...]:
    """Return a chart for each spec that has a curve. Smoothed lines take all points; others may be down-sampled."""
    curves_by_spec = ((spec, [(curves[key], name) for key, name in spec.lines if key in curves]) for spec in specs)
    return tuple(
        spec.draw(spec, curves, options.x, options.px) if spec.draw else _chart(run, spec, lines, options)
        for spec, lines in curves_by_spec
        if lines
    )


def _chart(run: Run, spec: Spec, lines: Sequence[tuple[Curve, str]], options: ChartOptions) -> Chart:
    x, key, values = options.x, spec.lines[0][0], [curve.y for curve, _ in lines]
    drawn = [(_shown(curve, options), name) for curve, name in lines]
    data = [trace for i, (curve, name) in enumerate(drawn) for trace in _traces(run, curve, name, i, options)]
    measure = Metric(key, spec.title, spoken(spec.unit), is_share=spec.is_share)
    is_thinned = any(len(curve.x) < curve.points for curve, _ in drawn)
    layout = line_layout(measure, values, options, thinned=is_thinned, showlegend=len(lines) > 1, legend=LEGEND)
    data = on_scales(data, log_x=options.has_log_x, log_y=is_logarithmic(key, values, options))
    keys = tuple(curve.key for curve, _ in lines)
    return Chart(
        spec.name,
        spec.title,
        _words(lines, value_format(key, spec.is_share), x) + log_words(key, values, options),
        {"data": data, "layout": layout},
        _table(drawn, x, spec.measured),
        keys,
        spec.help,
    )


def _shown(curve: Curve, options: ChartOptions) -> Curve:
    """Return the curve smoothed over all its current points, and then down-sampled; as it is without smoothing."""
    if not options.smoothing:
        return curve
    x, y = line(curve)
    order = np.argsort(x, kind="stable")
    x, y = x[order], smooth(x[order], y[order], options.smoothing)
    indices = m4(x, y, options.px, zoom=options.zoom) if options.px and len(x) else np.arange(len(x))
    return replace(curve, x=x[indices], y=y[indices], overwritten=np.zeros(len(indices), bool))


def _traces(run: Run, curve: Curve, name: str, i: int, options: ChartOptions) -> list[dict[str, Any]]:
    is_current, token = ~curve.overwritten, style.colour(run.method) if i == 0 else "other"
    # Points as they arrive are raw: a smoothed line waits for the next figure.
    live = {} if options.smoothing else {"run": run.uid, "key": curve.key}
    meta = {**live, "colour": token, "alpha": 1, "label": name}
    trace = _trace(curve, is_current, name, i, token, options.x) | {"meta": meta}
    return [_grey(curve, options.x), trace] if curve.overwritten.any() else [trace]


def _trace(curve: Curve, is_current: Any, name: str, i: int, token: str, axis: str) -> dict[str, Any]:
    mode = "lines+markers" if is_current.sum() <= MAX_MARKERS else "lines"
    return {
        "type": "scatter", "mode": mode, "name": name, "hoverinfo": "none",
        "x": places(curve.x[is_current], axis), "y": numbers(curve.y[is_current]),
        "line": {"color": style.paint(token), "width": 2 if i == 0 else 1.5, "dash": LINES[i % 4]},
        "marker": {"color": style.paint(token), "symbol": SYMBOLS[i % 4], "size": 5},
    }  # fmt: skip


def _grey(curve: Curve, axis: str) -> dict[str, Any]:
    """Return the points that a resume overwrote as muted markers: visible, but not in the legend."""
    trace = _trace(curve, curve.overwritten, gettext("overwritten by a resume"), 2, "muted", axis)
    return trace | {
        "mode": "markers", "meta": {"colour": "muted", "alpha": 1}, "showlegend": False, "hoverinfo": "skip",
    }  # fmt: skip


def _words(lines: Sequence[tuple[Curve, str]], format_value: Callable[[float], str], axis: str) -> str:
    """Describe the course of the first line, then the last value of each other line, with its far extreme if any."""
    curve, name = lines[0]
    x, y = line(curve)
    text = course(y, format_value, x, axis)
    text = f"{capfirst(name)} {text}" if len(lines) > 1 else capfirst(text)
    others = [f"{n} {_last_value(c, format_value, axis)}" for c, n in lines[1:]]
    return f"{text}{'; ' if others else ''}{', '.join(others)}.{_note(int(curve.overwritten.sum()))}"


def _last_value(curve: Curve, format_value: Callable[[float], str], axis: str) -> str:
    x, y = line(curve)
    value, extreme = format_value(float(y[-1])), far_extreme(y, x, format_value)
    if extreme is None:
        return value
    params = {"value": value, **extreme.params(format_value, axis)}
    if extreme.is_maximum:
        return gettext("%(value)s, with a maximum of %(extreme)s at %(position)s") % params
    return gettext("%(value)s, with a minimum of %(extreme)s at %(position)s") % params


def _note(overwritten_count: int) -> str:
    """State how many points were overwritten by a resume; return an empty text if there are none."""
    message = ngettext(
        "%(n)s point was overwritten by a resume (grey).",
        "%(n)s points were overwritten by a resume (grey).",
        overwritten_count,
    )
    return f" {message % {'n': overwritten_count}}" if overwritten_count else ""


def _table(lines: Sequence[tuple[Curve, str]], x: str, measured: Mapping[str, Provenance]) -> Table:
    """Return the points of each line, with their measurement if any line is of a held-out key."""
    out: list[tuple[Cell, ...]] = []
    any_held_out = any(is_held_out(curve.key) for curve, _name in lines)
    for curve, _name in lines:
        points = zip(curve.x, curve.y, curve.overwritten, strict=True)
        way = (measured.get(curve.key),) if any_held_out else ()
        out += [(curve.key, float(at), float(value), "yes" if again else "", *way) for at, value, again in points]
    return Table(("key", x, "value", "overwritten", *((MEASURED,) if any_held_out else ())), tuple(out))
