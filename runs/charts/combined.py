"""Draw the charts that users define: several keys in one chart, or a key against another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext

from runs.charts import style
from runs.charts.chart import Chart
from runs.charts.own import OwnChart
from runs.tables import Cell, Table

DASHES = ("solid", "dash", "dot", "dashdot")


def draw_own(
    own: OwnChart, along: Callable[[Sequence[str]], list[Chart]], against: Callable[[str, str], Chart]
) -> Chart:
    """Return a chart that a user defined. along: draws a chart of each key along the page's x axis; against: draws the
    values of the second key against those of the first."""
    charts = [against(own.against, key) for key in own.keys] if own.against else along(own.keys)
    chart = charts[0] if len(charts) == 1 else _combine(own.keys, charts)
    if not chart.figure.get("data"):
        chart = replace(chart, summary=gettext("None of these runs has points of these keys."))
    return replace(chart, name=own.name, title=own.heading, keys=own.all_keys)


def _combine(keys: Sequence[str], charts: Sequence[Chart]) -> Chart:
    """Return one chart with the lines of all. The lines of each key have a dash of their own."""
    data = [
        _named(trace, key, DASHES[i % len(DASHES)])
        for i, (key, chart) in enumerate(zip(keys, charts, strict=True))
        for trace in chart.figure["data"]
    ]
    layout = _common_layout([chart.figure["layout"] for chart in charts])
    summary = " ".join(f"{key}: {chart.summary}" for key, chart in zip(keys, charts, strict=True))
    columns = max((chart.table.columns for chart in charts), key=len)
    rows: list[tuple[Cell, ...]] = [
        (key, *row, *[None] * (len(columns) - len(row)))
        for key, chart in zip(keys, charts, strict=True)
        for row in chart.table.rows
    ]
    help_text = " ".join(filter(None, dict.fromkeys(chart.help for chart in charts)))
    return Chart(
        "", "", summary, {"data": data, "layout": layout}, Table(("key", *columns), tuple(rows)), help=help_text
    )


def _named(trace: dict[str, Any], key: str, dash: str) -> dict[str, Any]:
    """Return a line with the key in its name. The letters at the ends of lines stay as they are."""
    meta = trace.get("meta", {})
    if meta.get("letters"):
        return trace
    label = {"label": f"{meta['label']} · {key}"} if "label" in meta else {}
    line = {**trace.get("line", {}), "dash": dash}
    return {**trace, "name": f"{trace['name']} · {key}", "meta": {**meta, **label}, "line": line}


def _common_layout(layouts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the layout of the first chart with a y axis for all: a title, format and scale that they share."""
    first = layouts[0]
    axes = [layout["yaxis"] for layout in layouts]
    titles = {axis["title"]["text"] for axis in axes}
    yaxis = style.axis(titles.pop() if len(titles) == 1 else gettext("value"))
    for name in ("type", "dtick", "exponentformat", "tickformat"):
        values = {axis.get(name) for axis in axes}
        if len(values) == 1 and None not in values:
            yaxis[name] = axes[0][name]
    meta = dict(first.get("meta", {}))
    meta["thinned"] = any(layout.get("meta", {}).get("thinned") for layout in layouts)
    if len({layout.get("meta", {}).get("format") for layout in layouts}) > 1:
        meta["format"] = "number"
    return {**first, "yaxis": yaxis, "meta": meta}
