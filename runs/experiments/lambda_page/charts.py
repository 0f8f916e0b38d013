"""λ and the constraint that moves it: J_C raw and smoothed against its threshold, the cost, how much is safe, and the
way of a training through (J_C, λ)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import Cell, Chart, Mark, OverlayOptions, Table, line, number, numbers, overlay, style, with_provenance
from runs.metrics import Curve, Provenances
from workers.analysis.middles import Floats

LAMBDA, RAW, SMOOTHED, THRESHOLD = "lambda", "J_C", "J_C/smoothed", "J_C/threshold"
COST, SAFE = "cost/mean", "safety/safe_ratio"
KEYS = (LAMBDA, RAW, SMOOTHED, THRESHOLD, COST, SAFE)
ALONG = (
    (LAMBDA, _("λ"), _("The price of cost: fitness is R − λ·C. It grows while J_C is above its threshold.")),
    (RAW, _("J_C, raw and smoothed"), _("Mean cost of the unperturbed policy's training answers. Thick: as the rule "
     "smooths it; thin: as measured; dotted: the threshold that it must not exceed.")),
    (COST, _("Cost"), _("Mean cost of the held-out answers. Above 0 is unsafe.")),
    (SAFE, _("Safe ratio"), _("Share of the held-out answers whose cost is not above 0.")),
)  # fmt: skip
PHASE = "phase"
NAMES = (*(key for key, _title, _help in ALONG), PHASE)

Curves = Mapping[tuple[int, str], Curve]


def multiplier_charts(
    marks: Sequence[Mark], curves: Curves, how: OverlayOptions, measured: Provenances = MappingProxyType({})
) -> list[Chart]:
    """A chart of each of ALONG, then the phase plot. `curves` are whole, by (run id, key); `measured` says how the
    held-out ones were measured."""
    charts = [_along(key, marks, curves, how, measured) for key, _title, _words in ALONG]
    named = [
        replace(chart, name=key, title=gettext(title), help=gettext(words))
        for chart, (key, title, words) in zip(charts, ALONG, strict=True)
    ]
    runs = [mark.run for mark in marks]
    return [*(with_provenance(chart, runs, curves, measured) for chart in named), _phase(marks, curves)]


def _along(key: str, marks: Sequence[Mark], curves: Curves, how: OverlayOptions, measured: Provenances) -> Chart:
    chart = _constraint(marks, curves, how) if key == RAW else overlay(key, marks, curves, how, measured)
    if key == SAFE:
        chart.figure["layout"]["yaxis"]["tickformat"] = ".0%"
    return chart


def _constraint(marks: Sequence[Mark], curves: Curves, how: OverlayOptions) -> Chart:
    """J_C as the rule smooths it, over what was measured, with the threshold. Where nothing is smoothed only that."""
    raw = overlay(RAW, marks, curves, how)
    smoothed = overlay(SMOOTHED, marks, curves, how)
    if smoothed.is_empty:
        lead, behind = raw, []
    else:
        lead, behind = smoothed, [_thin(trace) for trace in raw.figure["data"] if trace.get("meta", {}).get("key")]
    bounds = _bounds(marks, curves, how)
    keyed = [(SMOOTHED, smoothed.table), (RAW, raw.table), (THRESHOLD, overlay(THRESHOLD, marks, curves, how).table)]
    rows = tuple((key, *row) for key, table in keyed for row in table.rows)
    figure = {**lead.figure, "data": [*behind, *bounds, *lead.figure["data"]]}
    return replace(lead, figure=figure, table=Table(("key", *raw.table.columns), rows), keys=(SMOOTHED, RAW, THRESHOLD))


def _thin(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the trace of raw values as a thin, pale line, for behind the smoothed one."""
    colour = trace["meta"]["colour"]
    stroke = {**trace["line"], "width": 1, "color": style.paint(colour, 0.4)}
    name = gettext("%(name)s, raw") % {"name": trace["name"]}
    return {**trace, "name": name, "mode": "lines", "line": stroke, "meta": {**trace["meta"], "alpha": 0.4}}


def _bounds(marks: Sequence[Mark], curves: Curves, how: OverlayOptions) -> list[dict[str, Any]]:
    """The thresholds, dotted: one line where all runs have the same, which never moves."""
    found = [(mark, *line(curves[mark.run.pk, THRESHOLD])) for mark in marks if (mark.run.pk, THRESHOLD) in curves]
    found = [(mark, x, y) for mark, x, y in found if len(x)]
    if not found:
        return []
    values = np.unique(np.concatenate([y for _, _, y in found]))
    if len(values) == 1:
        ends = np.array([min(x[0] for _, x, _ in found), max(x[-1] for _, x, _ in found)])
        return [_bound(gettext("threshold"), "muted", ends, np.repeat(values, 2), how)]
    named = gettext("%(name)s, threshold")
    return [_bound(named % {"name": mark.name}, mark.group.colour, x, y, how) for mark, x, y in found]


def _bound(name: str, colour: str, x: Floats, y: Floats, how: OverlayOptions) -> dict[str, Any]:
    places = numbers(1000 * x) if how.x == "wall" else numbers(x)
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": places, "y": numbers(y), "hovertemplate": "%{y:.5g}",
        "meta": {"colour": colour, "alpha": 1},
        "line": {"color": style.paint(colour), "width": 1.5, "dash": "dot", "shape": "hv"},
    }  # fmt: skip


def _phase(marks: Sequence[Mark], curves: Curves) -> Chart:
    """λ against J_C: where the constraint is violated λ grows, so the way goes up there, and left as it helps."""
    paths = [(mark, *_path(mark, curves)) for mark in marks]
    paths = [(mark, j_c, of) for mark, j_c, of in paths if len(of)]
    rows: list[tuple[Cell, ...]] = [
        (mark.letter, mark.run.name, float(j), float(v))
        for mark, j_c, of in paths
        for j, v in zip(j_c, of, strict=True)
    ]
    layout = style.layout("J_C", "λ", hovermode="closest", meta={"x": RAW})
    said = gettext("%(letter)s ends at λ %(value)s, J_C %(j_c)s")
    ends = [said % {"letter": m.letter, "value": number(of[-1]), "j_c": number(j_c[-1])} for m, j_c, of in paths]
    return Chart(
        PHASE, gettext("λ against J_C"), f"{'; '.join(ends)}." if ends else gettext("No run has measured both yet."),
        {"data": [*_edge(paths, curves), *(trace for path in paths for trace in _walk(*path))], "layout": layout},
        Table(("letter", "run", "J_C", "lambda"), tuple(rows)), keys=(LAMBDA, RAW, SMOOTHED),
        help=gettext("Each line is a run's way through training, its large mark where it is now; J_C is the smoothed "
                     "one where there is one. To the right of the threshold λ grows."),
    )  # fmt: skip


def _edge(paths: Sequence[tuple[Mark, Floats, Floats]], curves: Curves) -> list[dict[str, Any]]:
    """The threshold, upright, where all runs have the same."""
    known = [line(curves[mark.run.pk, THRESHOLD])[1] for mark, _, _ in paths if (mark.run.pk, THRESHOLD) in curves]
    values = np.unique(np.concatenate(known)) if known else np.zeros(0)
    if len(values) != 1:
        return []
    every = np.concatenate([of for _, _, of in paths])
    return [
        _bound(
            gettext("threshold"), "muted", np.repeat(values, 2), np.array([every.min(), every.max()]), OverlayOptions()
        )
    ]


def _path(mark: Mark, curves: Curves) -> tuple[Floats, Floats]:
    """(J_C, λ) where both were measured."""
    j_c = curves.get((mark.run.pk, SMOOTHED)) or curves.get((mark.run.pk, RAW))
    of = curves.get((mark.run.pk, LAMBDA))
    if j_c is None or of is None:
        return np.zeros(0), np.zeros(0)
    (j_x, j_y), (x, y) = line(j_c), line(of)
    _, i, j = np.intersect1d(j_x, x, return_indices=True)
    good = np.isfinite(j_y[i]) & np.isfinite(y[j])
    return j_y[i][good], y[j][good]


def _walk(mark: Mark, j_c: Floats, of: Floats) -> list[dict[str, Any]]:
    group = mark.group
    stroke = style.paint(group.colour)
    look = {
        "type": "scatter", "legendgroup": mark.run.uid, "meta": {"colour": group.colour, "alpha": 1},
        "hovertemplate": gettext("λ %(value)s at J_C %(j_c)s") % {"value": "%{y:.4g}", "j_c": "%{x:.4g}"},
    }  # fmt: skip
    end = {
        **look, "mode": "markers+text", "name": mark.name, "x": numbers(j_c[-1:]), "y": numbers(of[-1:]),
        "text": [f" {mark.letter}"], "textposition": "middle right", "cliponaxis": False,
        "marker": {"color": stroke, "symbol": group.marker, "size": 11},
    }  # fmt: skip
    way = {
        **look, "mode": "lines", "name": mark.name, "x": numbers(j_c), "y": numbers(of),
        "line": {"color": stroke, "width": 1.5, "dash": group.dash},
    }  # fmt: skip
    return [way, end]
