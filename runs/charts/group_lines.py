"""Lines of a chart of groups: a thin line for each visible run, and for each group its mean and a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from django.utils.translation import gettext
from numpy.typing import NDArray

from runs.charts import style
from runs.charts.axes import ChartOptions
from runs.charts.chart import numbers, places, spoken
from runs.charts.groups import Curves, Group, line, look
from runs.metrics import m4
from workers.analysis.aggregate import Floats
from workers.analysis.bands import Band, Ints, band
from workers.analysis.smoothing import smooth

GAP = np.array([np.nan])
REST_ALPHA = 0.7
"""Opacity of a mean line beyond the last x that all runs of its group have."""

Lines: TypeAlias = dict[int, tuple[Floats, Floats]]
"""(x, y) by run id, smoothed over all points."""


def lines_of(groups: Sequence[Group], key: str, curves: Curves, options: ChartOptions) -> Lines:
    lines = {run.pk: line(curves[run.pk, key]) for g in groups for run in g.runs if (run.pk, key) in curves}
    if not options.smoothing:
        return lines
    return {pk: (x, smooth(x, y, options.smoothing)) for pk, (x, y) in map(_ascending, lines.items())}


def _ascending(item: tuple[int, tuple[Floats, Floats]]) -> tuple[int, tuple[Floats, Floats]]:
    pk, (x, y) = item
    order = np.argsort(x, kind="stable")
    return pk, (x[order], y[order])


def band_of(group: Group, lines: Lines, options: ChartOptions) -> Band:
    """Return the group's mean and band. Its last value is at `end`, the last x that all of its runs have."""
    own = [lines[run.pk] for run in group.whole if run.pk in lines]
    return band(own, options.center, options.spread, share_points=options.x == "step")


def _corner_indices(x: Floats, y: Floats, options: ChartOptions, pieces: Ints | None = None) -> Ints:
    """Return the indices of the points of a line to draw."""
    return m4(x, y, options.px, pieces=pieces, zoom=options.zoom) if options.px and len(x) else np.arange(len(x))


def thinned(whole: Band, options: ChartOptions) -> Band:
    """Return the band at the drawn points of its middle line, which has one piece until the last x of all runs."""
    is_beyond = (whole.x > whole.end) | np.isnan(whole.end)
    indices = _corner_indices(
        whole.x, whole.middle, options, np.cumsum(np.diff(is_beyond, prepend=False), dtype=np.int64)
    )
    x, middle, low, high = (column[indices] for column in (whole.x, whole.middle, whole.low, whole.high))
    return replace(whole, x=x, middle=middle, low=low, high=high, n=whole.n[indices])


def traces(
    group: Group, whole: Band, mean: Band, key: str, visible: set[int], lines: Lines, options: ChartOptions
) -> list[dict[str, Any]]:
    several = whole.most > 1
    seed_lines = [(run, lines[run.pk]) for run in group.runs if run.pk in visible and run.pk in lines]
    indices = [_corner_indices(x, y, options) for _, (x, y) in seed_lines]
    seeds = [
        _seed(group, run.uid, run.name, key, (x[points], y[points]), options, thin=several)
        for (run, (x, y)), points in zip(seed_lines, indices, strict=True)
    ]
    if several or not seeds:
        return [*([_area(group, whole, options)] if several else []), *seeds, *_middles(group, mean, options)]
    return seeds


def _seed(
    group: Group,
    uid: str,
    name: str,
    key: str,
    points: tuple[Floats, Floats],
    options: ChartOptions,
    *,
    thin: bool,
) -> dict[str, Any]:
    alpha = 0.45 if thin else 1
    stroke = style.paint(group.colour, alpha)
    # Points as they arrive are raw: a smoothed line waits for the next figure.
    live = {} if options.smoothing else {"run": uid, "key": key}
    meta = {**live, "colour": group.colour, "alpha": alpha, **({} if thin else {"label": group.name})}
    return {
        **look(group), "mode": "lines" if thin else "lines+markers", "hoverinfo": "skip" if thin else "none",
        "name": name if thin else f"{group.name} (n = 1)", "meta": meta,
        "x": places(points[0], options.x), "y": numbers(points[1]),
        "line": {"color": stroke, "width": 1 if thin else 2, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _middles(group: Group, spread: Band, options: ChartOptions) -> list[dict[str, Any]]:
    """Return the mean line until the last x of all runs, then a thin line of the mean of those that go on."""
    common = int(np.searchsorted(spread.x, spread.end, side="right")) if np.isfinite(spread.end) else 0
    out = [_middle(group, _part(spread, slice(common)), options)] if common else []
    if common == len(spread.x):
        return out
    name = gettext("%(name)s, fewer runs") % {"name": group.name}
    stroke = style.paint(group.colour, REST_ALPHA)
    rest = _middle(group, _part(spread, slice(max(0, common - 1), None)), options) | {
        "mode": "lines", "name": name, "meta": {"colour": group.colour, "alpha": REST_ALPHA, "label": name},
        "line": {"color": stroke, "width": 1.25, "dash": group.dash},
    }  # fmt: skip
    return [*out, rest]


def _part(whole: Band, part: slice) -> Band:
    x, middle, low, high = (column[part] for column in (whole.x, whole.middle, whole.low, whole.high))
    return replace(whole, x=x, middle=middle, low=low, high=high, n=whole.n[part])


def _middle(group: Group, spread: Band, options: ChartOptions) -> dict[str, Any]:
    stroke = style.paint(group.colour)
    return {
        **look(group), "mode": "lines+markers", "name": f"{group.name} ({count_in_words(spread)})", "hoverinfo": "none",
        "meta": {"colour": group.colour, "alpha": 1, "label": group.name},
        "x": places(spread.x, options.x), "y": numbers(spread.middle),
        "customdata": [list(p) for p in zip(numbers(spread.low), numbers(spread.high), spread.n.tolist(), strict=True)],
        "line": {"color": stroke, "width": 2.5, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _area(group: Group, spread: Band, options: ChartOptions) -> dict[str, Any]:
    """Return the trace of the band. It falls into pieces, because there is no band at points with a single seed."""
    x, y = _outline(spread, options)
    return {
        **look(group), "mode": "lines", "name": f"{group.name}, {spoken(spread.kind)}", "hoverinfo": "skip",
        "meta": {"colour": group.colour, "alpha": 0.13}, "x": places(x, options.x), "y": numbers(y), "fill": "toself",
        "fillcolor": style.paint(group.colour, 0.13), "line": {"width": 0, "color": style.paint(group.colour, 0)},
    }  # fmt: skip


def _outline(spread: Band, options: ChartOptions) -> tuple[Floats, Floats]:
    """Return (x, y) around each piece of the band: along the upper edge, back along the lower, a gap between pieces."""
    wide = np.isfinite(spread.low) & np.isfinite(spread.high)
    upper, lower = (_pieces(spread.x, edge, wide, options) for edge in (spread.high, spread.low))
    around = []
    for above, below in zip(upper, lower, strict=True):
        back = below[::-1]
        around += [(spread.x[above], spread.high[above]), (spread.x[back], spread.low[back]), (GAP, GAP)]
    x, y = (np.concatenate(column)[:-1] for column in zip(*around, strict=True))
    return x, y


def _pieces(x: Floats, edge: Floats, wide: NDArray[np.bool_], options: ChartOptions) -> list[Ints]:
    """Return the indices of the drawn points of an edge, a list for each piece of the band, which is where `wide`."""
    if wide.all():
        return [_corner_indices(x, edge, options)]
    inside, piece = np.flatnonzero(wide), np.cumsum(~wide, dtype=np.int64)
    indices = inside[_corner_indices(x[inside], edge[inside], options, piece[inside])]
    return np.split(indices, np.flatnonzero(np.diff(piece[indices])) + 1)


def count_in_words(spread: Band) -> str:
    """Return the number of seeds in words: `n = 5`, or `n = 3 to 5` if it is not the same at every point."""
    least = int(spread.n.min(initial=spread.most))
    if least == spread.most:
        return f"n = {spread.most}"
    return gettext("n = %(low)s to %(high)s") % {"low": least, "high": spread.most}
