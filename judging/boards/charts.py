"""Charts of boards: ratings with their intervals, over time, and over the steps of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import BoardData, format_elo, format_interval, short_names
from judging.boards.leaders import leader_sentence
from runs.charts import Chart, Table
from runs.charts.style import axis, colour, layout
from workers.config.methods import short_title

MARKERS = {"es": "circle", "grpo": "square", "": "diamond"}
MAX_BANDS = 4
"""With more lines, bands would hide each other, so only the table shows the intervals."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")


@dataclass(frozen=True)
class Point:
    """A rating at a time or a step."""

    x: Any
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Line:
    """The ratings of one contestant, or of one run's checkpoints."""

    name: str
    method: str
    points: Sequence[Point]


def forest_chart(board: BoardData, methods: Mapping[str, str]) -> Chart:
    """Plot each rating with its interval, the best on top. methods: a contestant's name -> es, grpo or ""."""
    rated = [(rank, row) for rank, row in enumerate(board["board"]["standings"], 1) if row["rating"] is not None]
    methods = {name: method if method in MARKERS else "" for name, method in methods.items()}
    present = dict.fromkeys(methods.get(row["contestant"], "") for _, row in rated)
    names = short_names([row["contestant"] for _, row in rated])
    several = len({row["group"] for _, row in rated}) > 1
    labels = {row["contestant"]: _label(rank, names[row["contestant"]], row["group"], several) for rank, row in rated}
    data = [_scatter_trace([row for _, row in rated], methods, method, labels) for method in present]
    figure_layout = layout(
        gettext("rating, Elo points"), "", hovermode="closest", showlegend=len(data) > 1, meta={"x": "elo"}
    )
    figure_layout["yaxis"] |= {
        "type": "category", "categoryarray": list(reversed(labels.values())), "categoryorder": "array", "dtick": 1
    }  # fmt: skip
    figure_layout["legend"] = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    figure_layout["margin"] |= {"t": 24 if len(data) > 1 else 10}
    rows = [(row["contestant"], *(row["rating"][key] for key in ("value", "low", "high"))) for _, row in rated]
    summary = leader_sentence(board["board"]["standings"], board["board"]["asked"]["level"])
    return Chart(
        "forest", gettext("Ratings"), summary, {"data": data if rated else [], "layout": figure_layout},
        Table((gettext("contestant"), gettext("rating"), gettext("low"), gettext("high")), tuple(rows)),
        help=gettext(
            "Bradley–Terry strengths on the Elo scale: 400 points are odds of ten to one. Lines are intervals of "
            "single ratings. If two overlap, their difference may still be decided: see the table below."
        ),
    )  # fmt: skip


def ratings_over_time(lines: Sequence[Line]) -> Chart:
    """Plot the ratings on the stored boards."""
    summary = gettext("Ratings on %(n)s stored leaderboards.") % {
        "n": max((len(line.points) for line in lines), default=0)
    }
    x_title = gettext("time of computation, UTC")
    return _line_chart("time", gettext("Ratings over time"), summary, x_title, lines, "date")


def ratings_over_steps(lines: Sequence[Line]) -> Chart:
    """Plot the ratings of runs' checkpoints, on one board."""
    changes = [
        gettext("%(name)s: %(first)s at step %(a)s, %(last)s at step %(b)s") % _first_and_last(line) for line in lines
    ]
    summary = "; ".join(changes) + "."
    return _line_chart("steps", gettext("Ratings over training steps"), summary, gettext("step"), lines, "linear")


def _first_and_last(line: Line) -> dict[str, Any]:
    first, last = line.points[0], line.points[-1]
    return {
        "name": line.name,
        "first": format_elo(first.value),
        "a": first.x,
        "last": format_elo(last.value),
        "b": last.x,
    }


def _scatter_trace(
    rated: Iterable[BoardData], methods: Mapping[str, str], method: str, labels: Mapping[str, str]
) -> dict[str, Any]:
    rows = [row for row in rated if methods.get(row["contestant"], "") == method]
    ratings = [row["rating"] for row in rows]
    below, above = ([_error_length(row, bound) for row in ratings] for bound in ("low", "high"))
    return {
        "type": "scatter", "mode": "markers", "name": short_title(method) or gettext("other"),
        "x": [row["value"] for row in ratings], "y": [labels[row["contestant"]] for row in rows],
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 2, "width": 5,
            "array": above, "arrayminus": below,
        },
        "text": [f"{r['contestant']}: {format_elo(r['rating']['value'])} {format_interval(r['rating'])}" for r in rows],
        "hovertemplate": "%{text}<extra></extra>", "marker": {"size": 9, "symbol": MARKERS.get(method, "diamond")},
        "meta": {"colour": method or "other", "alpha": 1},
    }  # fmt: skip


def _error_length(rating: BoardData, bound: str) -> float:
    return 0.0 if rating[bound] is None else abs(rating[bound] - rating["value"])


def _label(rank: int, name: str, group: int, several: bool) -> str:
    # Two groups share the axis but no scale, so the label names the group: their ratings must not be compared.
    params = {"place": rank, "name": name, "group": group}
    return (gettext("%(place)s. %(name)s, group %(group)s") if several else "%(place)s. %(name)s") % params + " "


def _line_chart(name: str, title: str, summary: str, x_title: str, lines: Sequence[Line], kind: str) -> Chart:
    figure_layout = layout(x_title, gettext("rating, Elo points"), showlegend=True, meta={"x": kind})
    figure_layout["xaxis"] = axis(x_title, type=kind)
    figure_layout["legend"] = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    names, has_bands = short_names([line.name for line in lines]), len(lines) <= MAX_BANDS
    data = [trace for k, line in enumerate(lines) for trace in _traces(line, names[line.name], k, has_bands)]
    rows = [
        (line.name, _table_value(point.x), point.value, point.low, point.high)
        for line in lines
        for point in line.points
    ]
    at = gettext("step") if kind == "linear" else gettext("at")
    columns = (gettext("contestant"), at, gettext("rating"), gettext("low"), gettext("high"))
    return Chart(name, title, summary, {"data": data, "layout": figure_layout}, Table(columns, tuple(rows)))


def _traces(line: Line, name: str, k: int, has_band: bool) -> list[dict[str, Any]]:
    token = colour(line.method)
    x = [_table_value(point.x) for point in line.points]
    line_trace = {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": x,
        "y": [point.value for point in line.points], "hovertemplate": "%{y:.0f}",
        "line": {"width": 2, "dash": DASHES[k % len(DASHES)]},
        "marker": {"size": 7, "symbol": SYMBOLS[k % len(SYMBOLS)]},
        "meta": {"colour": token, "alpha": 1},
    }  # fmt: skip
    bounded = [point for point in line.points if point.low is not None and point.high is not None]
    if not has_band or len(bounded) < 2:
        return [line_trace]
    forward, backward = (
        [_table_value(point.x) for point in bounded],
        [_table_value(point.x) for point in reversed(bounded)],
    )
    band = {
        "type": "scatter", "mode": "lines", "name": "", "showlegend": False, "hoverinfo": "skip", "fill": "toself",
        "x": forward + backward, "y": [point.low for point in bounded] + [point.high for point in reversed(bounded)],
        "line": {"width": 0}, "meta": {"colour": token, "alpha": 0.14},
    }  # fmt: skip
    return [band, line_trace]


def _table_value(x: Any) -> Any:
    return x.strftime("%Y-%m-%d %H:%M:%S") if isinstance(x, datetime) else x
