"""Boards as figures: ratings with their intervals, over time, and over the steps of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from judging.boards.format import Said, elo, interval, leader, short
from runs.charts import Chart, Table
from runs.charts.style import METHODS, axis, colour, layout

MARKERS = {"es": "circle", "grpo": "square", "": "diamond"}
BANDS_AT_MOST = 4
"""Of more lines, bands would hide each other: they are in the table."""
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


def forest(said: Said, methods: Mapping[str, str]) -> Chart:
    """Each rating with its interval, the best on top. methods: a contestant's name -> es, grpo or nothing."""
    rated = [(place, one) for place, one in enumerate(said["board"]["standings"], 1) if one["rating"] is not None]
    methods = {name: method if method in METHODS else "" for name, method in methods.items()}
    present = dict.fromkeys(methods.get(one["contestant"], "") for _, one in rated)
    names = short([one["contestant"] for _, one in rated])
    several = len({one["group"] for _, one in rated}) > 1
    labels = {one["contestant"]: _label(place, names[one["contestant"]], one["group"], several) for place, one in rated}
    data = [_marks([one for _, one in rated], methods, method, labels) for method in present]
    drawn = layout(gettext("rating, Elo points"), "", hovermode="closest", showlegend=len(data) > 1, meta={"x": "elo"})
    drawn["yaxis"] |= {
        "type": "category", "categoryarray": list(reversed(labels.values())), "categoryorder": "array", "dtick": 1
    }  # fmt: skip
    drawn["legend"] = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    drawn["margin"] |= {"t": 24 if len(data) > 1 else 10}
    rows = [(one["contestant"], *(one["rating"][key] for key in ("value", "low", "high"))) for _, one in rated]
    summary = leader(said["board"]["standings"])
    return Chart(
        "forest", gettext("Ratings"), summary, {"data": data if rated else [], "layout": drawn},
        Table((gettext("contestant"), gettext("rating"), gettext("low"), gettext("high")), tuple(rows)),
        help=gettext(
            "Bradley and Terry's strengths on the scale of Elo: 400 points are odds of ten to one. Lines are intervals "
            "from resampling. Where two overlap, their difference in the table below says more than the overlap."
        ),
    )  # fmt: skip


def over_time(lines: Sequence[Line]) -> Chart:
    """Ratings on the boards that were kept."""
    said = gettext("Ratings as they stood on %(n)s boards.") % {"n": max((len(one.points) for one in lines), default=0)}
    when = gettext("when the board was worked out, UTC")
    return _lines("time", gettext("Ratings over time"), said, when, lines, "date")


def over_steps(lines: Sequence[Line]) -> Chart:
    """Ratings of runs' checkpoints, on one board."""
    ends = [gettext("%(name)s: %(first)s at step %(a)s, %(last)s at step %(b)s") % _ends(one) for one in lines]
    said = "; ".join(ends) + "."
    return _lines("steps", gettext("Ratings over training steps"), said, gettext("step"), lines, "linear")


def _ends(line: Line) -> dict[str, Any]:
    first, last = line.points[0], line.points[-1]
    return {"name": line.name, "first": elo(first.value), "a": first.x, "last": elo(last.value), "b": last.x}


def _marks(rated: Iterable[Said], methods: Mapping[str, str], method: str, labels: Mapping[str, str]) -> dict[str, Any]:
    own = [one for one in rated if methods.get(one["contestant"], "") == method]
    ratings = [one["rating"] for one in own]
    below, above = ([_bar(one, end) for one in ratings] for end in ("low", "high"))
    return {
        "type": "scatter", "mode": "markers", "name": METHODS.get(method, gettext("other")),
        "x": [one["value"] for one in ratings], "y": [labels[one["contestant"]] for one in own],
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 2, "width": 5,
            "array": above, "arrayminus": below,
        },
        "text": [f"{one['contestant']}: {elo(one['rating']['value'])} {interval(one['rating'])}" for one in own],
        "hovertemplate": "%{text}<extra></extra>", "marker": {"size": 9, "symbol": MARKERS.get(method, "diamond")},
        "meta": {"colour": method or "other", "alpha": 1},
    }  # fmt: skip


def _bar(rating: Said, end: str) -> float:
    return 0.0 if rating[end] is None else abs(rating[end] - rating["value"])


def _label(place: int, name: str, group: int, several: bool) -> str:
    # Two groups share the axis and no scale: nobody may read one against the other.
    said = {"place": place, "name": name, "group": group}
    return (gettext("%(place)s. %(name)s, group %(group)s") if several else "%(place)s. %(name)s") % said + " "


def _lines(name: str, title: str, said: str, x_title: str, lines: Sequence[Line], kind: str) -> Chart:
    drawn = layout(x_title, gettext("rating, Elo points"), showlegend=True, meta={"x": kind})
    drawn["xaxis"] = axis(x_title, type=kind)
    drawn["legend"] = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    names, has_bands = short([one.name for one in lines]), len(lines) <= BANDS_AT_MOST
    data = [trace for k, one in enumerate(lines) for trace in _traces(one, names[one.name], k, has_bands)]
    rows = [(one.name, _cell(point.x), point.value, point.low, point.high) for one in lines for point in one.points]
    at = gettext("step") if kind == "linear" else gettext("at")
    columns = (gettext("contestant"), at, gettext("rating"), gettext("low"), gettext("high"))
    return Chart(name, title, said, {"data": data, "layout": drawn}, Table(columns, tuple(rows)))


def _traces(line: Line, name: str, k: int, has_band: bool) -> list[dict[str, Any]]:
    token = colour(line.method)
    x = [_cell(point.x) for point in line.points]
    own = {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": x,
        "y": [point.value for point in line.points], "hovertemplate": "%{y:.0f}",
        "line": {"width": 2, "dash": DASHES[k % len(DASHES)]},
        "marker": {"size": 7, "symbol": SYMBOLS[k % len(SYMBOLS)]},
        "meta": {"colour": token, "alpha": 1},
    }  # fmt: skip
    bounded = [point for point in line.points if point.low is not None and point.high is not None]
    if not has_band or len(bounded) < 2:
        return [own]
    there, back = [_cell(point.x) for point in bounded], [_cell(point.x) for point in reversed(bounded)]
    band = {
        "type": "scatter", "mode": "lines", "name": "", "showlegend": False, "hoverinfo": "skip", "fill": "toself",
        "x": there + back, "y": [point.low for point in bounded] + [point.high for point in reversed(bounded)],
        "line": {"width": 0}, "meta": {"colour": token, "alpha": 0.14},
    }  # fmt: skip
    return [band, own]


def _cell(x: Any) -> Any:
    return x.strftime("%Y-%m-%d %H:%M:%S") if isinstance(x, datetime) else x
