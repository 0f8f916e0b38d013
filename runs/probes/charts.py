"""Charts of probe values over x: a line for each series and group, its band by chance as an area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts import Chart, course, number, numbers, share, style
from runs.charts.line_ends import LineData, end_letters, ends
from runs.probes.measures import ProbeMeasure
from runs.probes.selection import MAX_LINES, ProbeSeries
from runs.probes.tables import Values, file_of, of_tensor
from workers.analysis.aggregate import Floats
from workers.records import ProbeValue

MAX_LISTED_LINES = 4
MAX_TICKS = 8
FLOOR = 10.0
"""Factor below the smallest positive number of a logarithmic chart at which bands that reach 0 end."""


@dataclass(frozen=True)
class ProbeLine:
    """The values of one series, and of one group of tensors or source of responses if there are several, by x.

    end: the text at its end. position: number of the source among those of the chart, from which the line has its
    dash and marker; None if it has those of its series.
    """

    series: ProbeSeries
    end: str
    position: int | None
    values: list[ProbeValue]

    @property
    def dash(self) -> str:
        group = self.series.mark.group
        return group.dash if self.position is None else style.dash(group.method, self.position)

    @property
    def marker(self) -> str:
        group = self.series.mark.group
        return group.marker if self.position is None else style.marker(group.method, self.position)

    def column(self, name: str) -> Floats:
        """Return a field of its values; NaN where there is none."""
        fields = [getattr(value, name) for value in self.values]
        return np.array([np.nan if field is None else field for field in fields], dtype=np.float64)

    @property
    def data(self) -> LineData:
        """Return its points with its end as the letter."""
        y = self.column("value")
        return LineData(replace(self.series.mark, letter=self.end), self.column("x"), y, y)


def line_charts(values: Values, measure: ProbeMeasure) -> list[Chart]:
    """Return the charts of a measure over x: one for each group of tensors, for each series if sources of responses are
    compared, or for each pair of methods, such as ES × GRPO, if models are. Values without an x are left out."""
    drawn = values[:MAX_LINES]
    if measure.axis == "k":
        return [
            _chart(
                f"{measure.key}:{own[0].letter}", f"{own[0].letter} · {own[0].title}", [own], measure, _by_source(own)
            )
            for own in drawn
        ]
    groups = list(dict.fromkeys(value.tensor for _series, _verdict, several in drawn for value in several))
    if groups in ([], [""]):
        kinds = list(dict.fromkeys(series.kind for series, _verdict, _several in values if series.other))
        if len(kinds) < 2:
            return [_chart(measure.key, measure.title, values, measure, _by_series(drawn))]
        return [
            _chart(f"{measure.key}:{kind}", kind, own, measure, _by_series(own[:MAX_LINES]))
            for kind in kinds
            for own in [[row for row in values if row[0].kind == kind]]
        ]
    return [
        _chart(f"{measure.key}:{group}", group or gettext("whole model"), own, measure, _by_series(own[:MAX_LINES]))
        for group in groups
        for own in [of_tensor(values, group)]
    ]


def _by_series(values: Values) -> list[ProbeLine]:
    lines = [ProbeLine(series, series.letter, None, _ordered(several)) for series, _verdict, several in values]
    return [line for line in lines if line.values]


def _by_source(values: tuple[ProbeSeries, str, list[ProbeValue]]) -> list[ProbeLine]:
    series, _verdict, several = values
    sources = dict.fromkeys(value.tensor for value in several)
    lines = [
        ProbeLine(series, source or series.letter, i, _ordered([v for v in several if v.tensor == source]))
        for i, source in enumerate(sources)
    ]
    return [line for line in lines if line.values]


def _ordered(values: Sequence[ProbeValue]) -> list[ProbeValue]:
    return sorted((value for value in values if value.x is not None), key=lambda value: value.x or 0.0)


def _chart(name: str, title: str, values: Values, measure: ProbeMeasure, lines: Sequence[ProbeLine]) -> Chart:
    """Return a chart of these lines, whose table has all values."""
    labels = ends([line.data for line in lines], measure.is_log)
    data = [trace for line in lines for trace in _traces(line, measure, _floor(lines))]
    log_x = measure.is_log or measure.axis == "k"
    layout = style.layout(
        measure.x, measure.y, log_x=log_x, log_y=measure.is_log, meta=style.readout(measure.axis, measure.is_share)
    )
    layout["margin"] = {**layout["margin"], "r": 16 + 7 * max((len(end.text) for end in labels), default=0)}
    if log_x:
        layout["xaxis"] |= _ticks(lines)
    if measure.is_share:
        layout["yaxis"] |= {"tickformat": ".0%"}
    figure = {"data": [*data, *_letters(end_letters(labels, "step"), lines)], "layout": layout}
    help_text = " ".join(filter(None, (measure.estimator, gettext("By chance:"), measure.null)))
    return Chart(name, title, _summary(lines, measure), figure, file_of(values, measure), (), help_text)


def _ticks(lines: Sequence[ProbeLine]) -> dict[str, Any]:
    """Return ticks at the positions of the values, at most MAX_TICKS of them, and at the last."""
    every = sorted({float(x) for line in lines for x in line.column("x") if x > 0})
    shown = every[:: -(-len(every) // MAX_TICKS)] if every else []
    ticks = list(dict.fromkeys([*shown, *every[-1:]]))
    return {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{x:g}" for x in ticks]}


def _traces(line: ProbeLine, measure: ProbeMeasure, floor: float) -> list[dict[str, Any]]:
    """Return the area of the band by chance, its middle, and the points with their own intervals."""
    group = line.series.mark.group
    x, y, low, high = (line.column(name) for name in ("x", "value", "low", "high"))
    look = {"type": "scatter", "legendgroup": line.series.letter, "name": f"{line.end} · {line.series.title}"}
    points = {
        **look, "mode": "lines+markers", "hoverinfo": "none", "x": x.tolist(), "y": numbers(y),
        "meta": {"colour": group.colour, "alpha": 1.0, "label": line.end},
        "customdata": [list(row) for row in zip(numbers(low), numbers(high), [v.n for v in line.values], strict=True)],
        "line": {"color": style.paint(group.colour), "width": 2, "dash": line.dash},
        "marker": {"color": style.paint(group.colour), "symbol": line.marker, "size": 6},
    }  # fmt: skip
    if np.isfinite(low).any():
        errors = {"array": numbers(high - y), "arrayminus": numbers(y - low)}
        points["error_y"] = {"type": "data", "symmetric": False, "thickness": 1.2, "width": 3, **errors}
    traces = [*_band(line, look, floor if measure.is_log else None), *_middle(line, look), points]
    if not measure.is_log:
        return traces
    return [style.without_nonpositive(style.without_nonpositive(trace, "x"), "y") for trace in traces]


def _band(line: ProbeLine, look: dict[str, Any], floor: float | None) -> list[dict[str, Any]]:
    low, high = line.column("null_low"), line.column("null_high")
    wide = np.isfinite(low) & np.isfinite(high)
    if floor is not None:
        wide &= (line.column("x") > 0) & (high > 0)
        low = np.maximum(low, floor)
    if wide.sum() < 2:
        return []
    x = line.column("x")[wide]
    colour = line.series.mark.group.colour
    return [{
        **look, "mode": "lines", "hoverinfo": "skip", "fill": "toself", "x": np.r_[x, x[::-1]].tolist(),
        "y": numbers(np.r_[high[wide], low[wide][::-1]]), "meta": {"colour": colour, "alpha": 0.16},
        "fillcolor": style.paint(colour, 0.16), "line": {"width": 0, "color": style.paint(colour, 0)},
    }]  # fmt: skip


def _middle(line: ProbeLine, look: dict[str, Any]) -> list[dict[str, Any]]:
    null = line.column("null")
    if np.isfinite(null).sum() < 2:
        return []
    colour = line.series.mark.group.colour
    return [{
        **look, "mode": "lines", "hoverinfo": "skip", "x": line.column("x").tolist(), "y": numbers(null),
        "meta": {"colour": colour, "alpha": 0.7},
        "line": {"color": style.paint(colour, 0.7), "width": 1, "dash": "dot"},
    }]  # fmt: skip


def _floor(lines: Sequence[ProbeLine]) -> float:
    every = np.concatenate([line.column(name) for line in lines for name in ("value", "null_low")] or [np.ones(1)])
    positive = every[np.isfinite(every) & (every > 0)]
    return float(positive.min()) / FLOOR if len(positive) else 1.0


def _letters(traces: list[dict[str, Any]], lines: Sequence[ProbeLine]) -> list[dict[str, Any]]:
    """Return the trace of letters with the letter of the series in place of the run: the page hides lines by it."""
    series = {line.end: line.series.letter for line in lines}
    for trace in traces:
        trace["customdata"] = [[[text, series[text]] for text, _uid in pairs] for pairs in trace["customdata"]]
    return traces


def _summary(lines: Sequence[ProbeLine], measure: ProbeMeasure) -> str:
    if not lines:
        return gettext("None of these results has values.")
    format_value, is_by_step = share if measure.is_share else number, measure.axis == "step"
    texts = [
        f"{line.end} {course(line.column('value'), format_value, line.column('x') if is_by_step else None)}"
        for line in lines[:MAX_LISTED_LINES]
    ]
    more = len(lines) - MAX_LISTED_LINES
    if more > 0:
        texts.append(gettext("and %(n)s more") % {"n": more})
    return "; ".join(texts) + "."
