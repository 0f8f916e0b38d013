"""Charts of λ and the constraint that moves it: J_C raw and smoothed with its threshold, the cost, the safe ratio, and
the path of a training through (J_C, λ)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import (
    Cell,
    Chart,
    ChartOptions,
    Mark,
    Table,
    explain_absence,
    line,
    number,
    numbers,
    overlay,
    places,
    style,
    with_provenance,
)
from runs.metrics import Curve, Provenances
from workers.analysis.aggregate import Floats
from workers.analysis.keys import COST, SAFE

LAMBDA, RAW, SMOOTHED, THRESHOLD = "lambda", "J_C", "J_C/smoothed", "J_C/threshold"
KEYS = (LAMBDA, RAW, SMOOTHED, THRESHOLD, COST, SAFE)
TIME_CHARTS = (
    (LAMBDA, _("λ"), _("The weight of cost: fitness is R − λ·C. λ grows while J_C is above its threshold.")),
    (RAW, _("J_C, raw and smoothed"), _("Mean cost of the unperturbed policy's training responses. Thick: smoothed by "
     "the rule; thin: measured; dotted: the threshold.")),
    (COST, _("Cost"), _("Mean cost of the held-out responses. Above 0 is unsafe.")),
    (SAFE, _("Safe ratio"), _("Share of held-out responses whose cost is at most 0.")),
)  # fmt: skip
PHASE = "phase"
NAMES = (*(key for key, _title, _help in TIME_CHARTS), PHASE)

Curves = Mapping[tuple[int, str], Curve]


def multiplier_charts(
    marks: Sequence[Mark], curves: Curves, options: ChartOptions, provenances: Provenances = MappingProxyType({})
) -> list[Chart]:
    """Return a chart for each of TIME_CHARTS, then the phase plot.

    `curves` are complete, by (run id, key); `provenances` describe how the held-out curves were measured.
    """
    charts = [_time_chart(key, marks, curves, options, provenances) for key, _title, _words in TIME_CHARTS]
    named = [
        replace(chart, name=key, title=gettext(title), help=gettext(words))
        for chart, (key, title, words) in zip(charts, TIME_CHARTS, strict=True)
    ]
    runs = [mark.run for mark in marks]
    return [*(with_provenance(chart, runs, curves, provenances) for chart in named), _phase(marks, curves)]


def _time_chart(
    key: str, marks: Sequence[Mark], curves: Curves, options: ChartOptions, provenances: Provenances
) -> Chart:
    return _constraint(marks, curves, options) if key == RAW else overlay(key, marks, curves, options, provenances)


def _constraint(marks: Sequence[Mark], curves: Curves, options: ChartOptions) -> Chart:
    """Chart J_C as the rule smooths it, over the measured values, with the threshold. If nothing is smoothed, chart
    only the measured values."""
    raw = overlay(RAW, marks, curves, options)
    smoothed = overlay(SMOOTHED, marks, curves, options)
    if smoothed.is_empty:
        lead, behind = raw, []
    else:
        lead, behind = smoothed, [_thin(trace) for trace in raw.figure["data"] if trace.get("meta", {}).get("key")]
    bounds = _bounds(marks, curves, options)
    keyed = [
        (SMOOTHED, smoothed.table),
        (RAW, raw.table),
        (THRESHOLD, overlay(THRESHOLD, marks, curves, options).table),
    ]
    rows = tuple((key, *row) for key, table in keyed for row in table.rows)
    figure = {**lead.figure, "data": [*behind, *bounds, *lead.figure["data"]]}
    return replace(lead, figure=figure, table=Table(("key", *raw.table.columns), rows), keys=(SMOOTHED, RAW, THRESHOLD))


def _thin(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the trace of raw values as a thin, pale line, to be drawn behind the smoothed line."""
    colour = trace["meta"]["colour"]
    stroke = {**trace["line"], "width": 1, "color": style.paint(colour, 0.4)}
    name = gettext("%(name)s, raw") % {"name": trace["name"]}
    return {**trace, "name": name, "mode": "lines", "line": stroke, "meta": {**trace["meta"], "alpha": 0.4}}


def _bounds(marks: Sequence[Mark], curves: Curves, options: ChartOptions) -> list[dict[str, Any]]:
    """Return the thresholds as dotted lines: one line if all runs have the same threshold, which never moves."""
    thresholds = [(mark, *line(curves[mark.run.pk, THRESHOLD])) for mark in marks if (mark.run.pk, THRESHOLD) in curves]
    thresholds = [(mark, x, y) for mark, x, y in thresholds if len(x)]
    if not thresholds:
        return []
    values = np.unique(np.concatenate([y for _, _, y in thresholds]))
    if len(values) == 1:
        ends = np.array([min(x[0] for _, x, _ in thresholds), max(x[-1] for _, x, _ in thresholds)])
        return [_bound(gettext("threshold"), "muted", ends, np.repeat(values, 2), options)]
    name_format = gettext("%(name)s, threshold")
    return [_bound(name_format % {"name": mark.name}, mark.group.colour, x, y, options) for mark, x, y in thresholds]


def _bound(name: str, colour: str, x: Floats, y: Floats, options: ChartOptions) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": places(x, options.x), "y": numbers(y),
        "hoverinfo": "none",
        "meta": {"colour": colour, "alpha": 1, "label": name},
        "line": {"color": style.paint(colour), "width": 1.5, "dash": "dot", "shape": "hv"},
    }  # fmt: skip


def _phase(marks: Sequence[Mark], curves: Curves) -> Chart:
    """Chart λ against J_C: where the constraint is violated λ grows, so the path rises there, and turns left when λ
    helps."""
    paths = [(mark, *_path(mark, curves)) for mark in marks]
    paths = [(mark, j_c, lambdas) for mark, j_c, lambdas in paths if len(lambdas)]
    rows: list[tuple[Cell, ...]] = [
        (mark.letter, mark.run.name, float(j), float(v))
        for mark, j_c, lambdas in paths
        for j, v in zip(j_c, lambdas, strict=True)
    ]
    layout = style.layout("J_C", "λ", hovermode="closest", meta={"x": RAW})
    absence = explain_absence((LAMBDA, RAW), [mark.run for mark in marks], curves)
    message = gettext("%(letter)s ends at λ %(value)s, J_C %(j_c)s")
    ends = [
        message % {"letter": m.letter, "value": number(lambdas[-1]), "j_c": number(j_c[-1])}
        for m, j_c, lambdas in paths
    ]
    return Chart(
        PHASE, gettext("λ against J_C"), f"{'; '.join(ends)}." if ends else absence,
        {"data": [*_edge(paths, curves), *(trace for path in paths for trace in _walk(*path))], "layout": layout},
        Table(("letter", "run", "J_C", "lambda"), tuple(rows)), keys=(LAMBDA, RAW, SMOOTHED),
        help=gettext("Each line is the path of a run through training; the large marker is its last value. J_C is the "
                     "smoothed one if the run has it. To the right of the threshold λ grows."),
    )  # fmt: skip


def _edge(paths: Sequence[tuple[Mark, Floats, Floats]], curves: Curves) -> list[dict[str, Any]]:
    """Return the threshold as a vertical line, if all runs have the same."""
    thresholds = [line(curves[mark.run.pk, THRESHOLD])[1] for mark, _, _ in paths if (mark.run.pk, THRESHOLD) in curves]
    values = np.unique(np.concatenate(thresholds)) if thresholds else np.zeros(0)
    if len(values) != 1:
        return []
    lambdas = np.concatenate([values for _, _, values in paths])
    return [
        _bound(
            gettext("threshold"),
            "muted",
            np.repeat(values, 2),
            np.array([lambdas.min(), lambdas.max()]),
            ChartOptions(),
        )
    ]


def _path(mark: Mark, curves: Curves) -> tuple[Floats, Floats]:
    """Return (J_C, λ) at the steps where both were measured."""
    j_c = curves.get((mark.run.pk, SMOOTHED)) or curves.get((mark.run.pk, RAW))
    lambda_curve = curves.get((mark.run.pk, LAMBDA))
    if j_c is None or lambda_curve is None:
        return np.zeros(0), np.zeros(0)
    (j_x, j_y), (x, y) = line(j_c), line(lambda_curve)
    _, i, j = np.intersect1d(j_x, x, return_indices=True)
    good = np.isfinite(j_y[i]) & np.isfinite(y[j])
    return j_y[i][good], y[j][good]


def _walk(mark: Mark, j_c: Floats, lambdas: Floats) -> list[dict[str, Any]]:
    group = mark.group
    stroke = style.paint(group.colour)
    look = {
        "type": "scatter", "legendgroup": mark.run.uid, "meta": {"colour": group.colour, "alpha": 1},
        "hovertemplate": gettext("λ %(value)s at J_C %(j_c)s") % {"value": "%{y:.4g}", "j_c": "%{x:.4g}"},
    }  # fmt: skip
    end = {
        **look, "mode": "markers+text", "name": mark.name, "x": numbers(j_c[-1:]), "y": numbers(lambdas[-1:]),
        "text": [f" {mark.letter}"], "textposition": "middle right", "cliponaxis": False,
        "marker": {"color": stroke, "symbol": group.marker, "size": 11},
    }  # fmt: skip
    path = {
        **look, "mode": "lines", "name": mark.name, "x": numbers(j_c), "y": numbers(lambdas),
        "line": {"color": stroke, "width": 1.5, "dash": group.dash},
    }  # fmt: skip
    return [path, end]
