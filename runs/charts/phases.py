"""The seconds of an ES run by phase: stacked bars over its iterations, of every engine together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext
from numpy.typing import NDArray

from runs.charts import style
from runs.charts.chart import X_WORDS, Chart, Floats, numbers, places, spoken
from runs.charts.run_lines import LEGEND, Spec
from runs.metrics import Curve
from runs.metrics.metric_charts import PHASES as PHASES_CHART
from runs.metrics.metric_charts import SCORING
from runs.tables import Cell, Table, number, share

MAX_BARS, MAX_SPACED_BARS = 120, 40
"""More iterations than the first share bars; up to the second, there is some space between bars."""
SPACED = 0.9
STEP, TOKENS, IDLE = "time/step_seconds", "es/tokens_per_second", "time/engine_idle_seconds"
COLOURS = {
    "time/decode_seconds": ("es", 1.0),
    "time/prefill_seconds": ("cyan", 1.0),
    "time/noise_seconds": ("accent", 1.0),
    "time/update_seconds": ("warn", 1.0),
    IDLE: ("muted", 0.8),
}
"""Parts of a bar, from below, with their token and its opacity."""


def phases_chart(spec: Spec, curves: Mapping[str, Curve], x: str, px: int | None) -> Chart:
    """Draw the phases along an axis from curves with all their points; at least one of the spec's must be among them.

    A bar is the mean of neighbouring iterations if there are many. The table has a row a bar, or without `px` a row an
    iteration. Points that a resume overwrote are left out.
    """
    points = _align(spec, curves)
    bars = _average(points) if len(points["x"]) > MAX_BARS else points
    parts = {key: name for key, name in spec.lines if key in points}
    if IDLE in points:
        parts[IDLE] = gettext("idle")
    stacked = {key: parts[key] for key in COLOURS if key in parts}
    data = [_bars(key, name, bars, x) for key, name in stacked.items()]
    if SCORING in parts:
        data.append(_line(parts[SCORING], bars, x))
    layout = style.layout(
        spoken(X_WORDS[x]), spoken(spec.unit), barmode="stack", showlegend=True,
        legend=LEGEND | {"traceorder": "normal"}, meta=style.readout(x, is_share=False),
    )  # fmt: skip
    if x == "wall":
        layout["xaxis"] |= {"type": "date", "exponentformat": "none"}
    summary = " ".join([*_words(points, stacked), *_bar_words(points)])
    table = _table(x, parts, points if px is None else bars)
    return Chart(spec.name, spec.title, summary, {"data": data, "layout": layout}, table, spec.keys, spec.help)


PHASES = replace(Spec.of(PHASES_CHART), also=(IDLE, STEP, TOKENS), draw=phases_chart)


def _align(spec: Spec, curves: Mapping[str, Curve]) -> dict[str, Floats]:
    """Return x, ascending, where the spec has points, and the values of each key there; NaN where it has none."""
    live = {key: ~curves[key].overwritten for key in (*spec.keys, *spec.also) if key in curves}
    x = np.unique(np.concatenate([curves[key].x[live[key]] for key in spec.keys if key in live]))
    points = {"x": x}
    for key, is_current in live.items():
        has_x = np.isin(curves[key].x, x) & is_current
        points[key] = np.full(len(x), np.nan)
        points[key][np.searchsorted(x, curves[key].x[has_x])] = curves[key].y[has_x]
    return points


def _average(points: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the means of neighbours, as many for each of MAX_BARS, without NaN; NaN where all are."""
    return {key: np.array([_mean(part) for part in np.array_split(values, MAX_BARS)]) for key, values in points.items()}


def _mean(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _widths(x: Floats) -> Floats:
    """Return widths of bars at x that do not overlap: the smaller distance to a neighbour; 1 for a single bar."""
    if len(x) == 1:
        return np.ones(1)
    gaps = np.diff(x)
    widths: Floats = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    if len(x) <= MAX_SPACED_BARS:
        widths *= SPACED
    return widths


def _bars(key: str, name: str, bars: Mapping[str, Floats], axis: str) -> dict[str, Any]:
    token, alpha = COLOURS[key]
    return {
        "type": "bar", "name": name, "x": places(bars["x"], axis), "y": numbers(bars[key]),
        "width": places(_widths(bars["x"]), axis), "hoverinfo": "none",
        "meta": {"colour": token, "alpha": alpha, "label": name},
        "marker": {"color": style.paint(token, alpha), "line": {"width": 0}},
    }  # fmt: skip


def _line(name: str, bars: Mapping[str, Floats], axis: str) -> dict[str, Any]:
    mode = "lines" if len(bars["x"]) > 1 else "markers"
    return {
        "type": "scatter", "mode": mode, "name": name, "x": places(bars["x"], axis), "y": numbers(bars[SCORING]),
        "hoverinfo": "none", "meta": {"colour": "ink", "alpha": 1, "label": name},
        "line": {"color": style.paint("ink"), "width": 2, "dash": "dot"}, "marker": {"color": style.paint("ink")},
    }  # fmt: skip


def _words(points: Mapping[str, Floats], stacked: Mapping[str, str]) -> list[str]:
    """Return sentences: how long an iteration took, how fast answers were written, how the engines' time was spent."""
    sentences = []
    if (seconds := _median(points, STEP)) is not None:
        sentences.append(gettext("Median iteration %(seconds)s s.") % {"seconds": number(seconds)})
    if (speed := _median(points, TOKENS)) is not None:
        sentences.append(gettext("Median speed %(speed)s tokens/s.") % {"speed": number(speed)})
    if shares := _shares(points, stacked):
        sentences.append(gettext("Engine time: %(shares)s.") % {"shares": shares})
    if (seconds := _median(points, SCORING)) is not None:
        sentences.append(gettext("Concurrent scoring: median %(seconds)s s.") % {"seconds": number(seconds)})
    return sentences


def _median(points: Mapping[str, Floats], key: str) -> float | None:
    values = points.get(key, np.empty(0))
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else None


def _shares(points: Mapping[str, Floats], stacked: Mapping[str, str]) -> str:
    """Return each part's share of all measured seconds, the largest first."""
    totals = {name: _total(points[key]) for key, name in stacked.items()}
    if not (total := sum(totals.values())):
        return ""
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share(seconds / total)}" for name, seconds in ordered)


def _total(values: NDArray[np.float64]) -> float:
    return float(values[np.isfinite(values)].sum())


def _bar_words(points: Mapping[str, Floats]) -> Sequence[str]:
    size = -(-len(points["x"]) // MAX_BARS)
    if size == 1:
        return ()
    message = ngettext(
        "Each bar is the mean of up to %(n)s iteration.", "Each bar is the mean of up to %(n)s iterations.", size
    )
    return (message % {"n": size},)


def _table(x: str, parts: Mapping[str, str], rows: Mapping[str, Floats]) -> Table:
    keys = [key for key in (*parts, STEP, TOKENS) if key in rows]
    columns = (rows[key].tolist() for key in keys)
    cells: tuple[tuple[Cell, ...], ...] = tuple(zip(rows["x"].tolist(), *columns, strict=True))
    return Table((x, *keys), cells)
