"""Charts of ES against GRPO: a thin line for each seed, and for each group its mean and a band."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext
from numpy.typing import NDArray

from runs.charts import (
    ACCURACY,
    MEASURED,
    MEASURES,
    REWARD,
    X_WORDS,
    Cell,
    Chart,
    Curves,
    Group,
    Look,
    Measure,
    Table,
    averaged,
    course,
    line,
    look,
    number,
    numbers,
    share,
    spoken,
    style,
    ways_of,
    with_partial,
    with_provenance,
    without_means,
)
from runs.charts.axes import KL
from runs.compare.charts.tradeoff import tradeoff
from runs.metrics import Curve, Provenance, Provenances, m4, provenances
from workers.analysis.aggregate import MIDDLES, Floats
from workers.analysis.bands import Band, Ints, band
from workers.executors.states import State

GAP = np.array([np.nan])
DEFAULT_LOOK = Look()
TRADEOFF = "tradeoff"
KEYS = {measure.name: (measure.key,) for measure in MEASURES} | {TRADEOFF: (REWARD, KL)}
CHARTS = tuple(KEYS)
"""The names of the charts of an experiment, in order."""


def keys_for_chart(name: str) -> tuple[str, ...]:
    """Return the keys that the chart of this name is drawn from; an empty tuple if there is no such chart."""
    return KEYS.get(name, ())


def compare_methods(
    groups: Sequence[Group],
    visible_ids: Iterable[int],
    curves: Iterable[Curve],
    options: Look = DEFAULT_LOOK,
    names: Collection[str] = CHARTS,
    origins: Mapping[int, str] = MappingProxyType({}),
) -> list[Chart]:
    """Return the experiment's charts of these names: each measure along `x`, then reward against KL. A table holds the
    drawn points of the means: every point if no width is given.

    `groups` hold all seeds that a mean is taken over; `visible_ids` are the runs that get a line of their own: a mean
    never depends on which runs are visible. `curves` are those of all runs in `groups`. `origins`: source of each run's
    series (`metrics.origins_of`); every chart states how its series were measured, and whether they differ.
    """
    curves_by_key = {(c.run_id, c.key): c for c in curves}
    visible, runs = set(visible_ids), [run for group in groups for run in group.runs]
    provenances_by_key = provenances(runs, (REWARD, KL, ACCURACY), origins)
    charts = [
        _along(m.spoken(), groups, visible, curves_by_key, options, provenances_by_key)
        for m in MEASURES
        if m.name in names
    ]
    charts += (
        [tradeoff(groups, visible, curves_by_key, options.log_kl, provenances_by_key)] if TRADEOFF in names else []
    )
    charts = [
        without_means(
            with_provenance(chart, runs, curves_by_key, provenances_by_key), groups, curves_by_key, provenances_by_key
        )
        for chart in charts
    ]
    partial = [run for run in runs if run.state == State.PARTIAL]
    return [with_partial(chart, partial) for chart in charts]


def _along(
    measure: Measure,
    groups: Sequence[Group],
    visible: set[int],
    curves: Curves,
    options: Look,
    provenances: Provenances,
) -> Chart:
    x, log_y = options.x, options.log_kl and measure.key == KL
    drawn_groups, _mixed = averaged(groups, (measure.key,), curves, provenances)
    bands = [(g, _band(g, measure.key, curves, options)) for g in drawn_groups]
    bands = [(g, b) for g, b in bands if b.most]
    means = [(g, _thinned(b, options)) for g, b in bands]
    drawn_bands = zip(bands, means, strict=True)
    data = [t for (g, b), (_, mean) in drawn_bands for t in _traces(g, b, mean, measure.key, visible, curves, options)]
    if log_y:
        data = [style.without_nonpositive(trace, "y") for trace in data]
    thinned = options.px is not None and any(len(b.x) > 2 * options.px for _, b in bands)
    layout = style.layout(spoken(X_WORDS[x]), measure.unit, log_y=log_y, meta={"x": x, "thinned": thinned})
    if measure.is_share:
        layout["yaxis"] |= {"tickformat": ".0%", **style.room(_all_means(bands), is_share=True)}
    summary = _summary([(g, b) for g, b in bands if g in groups], share if measure.is_share else number, x)
    ways = {g: next(iter(ways_of(g.whole, measure.key, curves, provenances)), None) for g, _ in means}
    return Chart(
        measure.name, measure.title, summary if bands else gettext("No evaluation yet."),
        {"data": data, "layout": layout}, _table(means, options, ways), keys=(measure.key,), help=measure.help,
    )  # fmt: skip


def _band(group: Group, key: str, curves: Curves, options: Look) -> Band:
    lines = [line(curves[run.pk, key]) for run in group.whole if (run.pk, key) in curves]
    return band(lines, options.center, options.spread)


def _corner_indices(x: Floats, y: Floats, options: Look, pieces: Ints | None = None) -> Ints:
    """Return the indices of the points of a line to draw."""
    return m4(x, y, options.px, pieces=pieces, zoom=options.zoom) if options.px and len(x) else np.arange(len(x))


def _thinned(whole: Band, options: Look) -> Band:
    """Return the band at the drawn points of its middle line."""
    indices = _corner_indices(whole.x, whole.middle, options)
    x, middle, low, high = (column[indices] for column in (whole.x, whole.middle, whole.low, whole.high))
    return replace(whole, x=x, middle=middle, low=low, high=high, n=whole.n[indices])


def _traces(
    group: Group, whole: Band, mean: Band, key: str, visible: set[int], curves: Curves, options: Look
) -> list[dict[str, Any]]:
    several = whole.most > 1
    seed_lines = [
        (run, line(curves[run.pk, key])) for run in group.runs if run.pk in visible and (run.pk, key) in curves
    ]
    indices = [_corner_indices(x, y, options) for _, (x, y) in seed_lines]
    seeds = [
        _seed(group, run.uid, run.name, key, (x[points], y[points]), several)
        for (run, (x, y)), points in zip(seed_lines, indices, strict=True)
    ]
    if not several:
        return seeds
    return [_area(group, whole, options), *seeds, _middle(group, mean)]


def _seed(group: Group, uid: str, name: str, key: str, points: tuple[Floats, Floats], thin: bool) -> dict[str, Any]:
    stroke = style.paint(group.colour, 0.45 if thin else 1)
    meta = {"run": uid, "key": key, "colour": group.colour, "alpha": 0.45 if thin else 1}
    mode = {"mode": "lines", "hoverinfo": "skip"} if thin else {"mode": "lines+markers", "hovertemplate": "%{y:.4g}"}
    return {
        **look(group), **mode, "name": name if thin else f"{group.name} (n = 1)", "meta": meta,
        "x": numbers(points[0]), "y": numbers(points[1]),
        "line": {"color": stroke, "width": 1 if thin else 2, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _middle(group: Group, spread: Band) -> dict[str, Any]:
    stroke = style.paint(group.colour)
    return {
        **look(group), "mode": "lines+markers", "name": f"{group.name} ({_count(spread)})",
        "meta": {"colour": group.colour, "alpha": 1}, "x": numbers(spread.x), "y": numbers(spread.middle),
        "customdata": [list(p) for p in zip(numbers(spread.low), numbers(spread.high), spread.n.tolist(), strict=True)],
        "hovertemplate": gettext("%(value)s (%(low)s to %(high)s, n = %(n)s)") % {
            "value": "%{y:.4g}", "low": "%{customdata[0]:.4g}", "high": "%{customdata[1]:.4g}", "n": "%{customdata[2]}",
        },
        "line": {"color": stroke, "width": 2.5, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _area(group: Group, spread: Band, options: Look) -> dict[str, Any]:
    """Return the trace of the band. It falls into pieces, because there is no band at points with a single seed."""
    x, y = _outline(spread, options)
    return {
        **look(group), "mode": "lines", "name": f"{group.name}, {spoken(spread.kind)}", "hoverinfo": "skip",
        "meta": {"colour": group.colour, "alpha": 0.13}, "x": numbers(x), "y": numbers(y), "fill": "toself",
        "fillcolor": style.paint(group.colour, 0.13), "line": {"width": 0, "color": style.paint(group.colour, 0)},
    }  # fmt: skip


def _outline(spread: Band, options: Look) -> tuple[Floats, Floats]:
    """Return (x, y) around each piece of the band: along the upper edge, back along the lower, a gap between pieces."""
    wide = np.isfinite(spread.low) & np.isfinite(spread.high)
    upper, lower = (_pieces(spread.x, edge, wide, options) for edge in (spread.high, spread.low))
    around = []
    for above, below in zip(upper, lower, strict=True):
        back = below[::-1]
        around += [(spread.x[above], spread.high[above]), (spread.x[back], spread.low[back]), (GAP, GAP)]
    x, y = (np.concatenate(column)[:-1] for column in zip(*around, strict=True))
    return x, y


def _pieces(x: Floats, edge: Floats, wide: NDArray[np.bool_], options: Look) -> list[Ints]:
    """Return the indices of the drawn points of an edge, a list for each piece of the band, which is where `wide`."""
    if wide.all():
        return [_corner_indices(x, edge, options)]
    inside, piece = np.flatnonzero(wide), np.cumsum(~wide, dtype=np.int64)
    indices = inside[_corner_indices(x[inside], edge[inside], options, piece[inside])]
    return np.split(indices, np.flatnonzero(np.diff(piece[indices])) + 1)


def _count(spread: Band) -> str:
    """Return the number of seeds in words: `n = 5`, or `n = 3 to 5` if it is not the same at every point."""
    least = int(spread.n.min(initial=spread.most))
    if least == spread.most:
        return f"n = {spread.most}"
    return gettext("n = %(low)s to %(high)s") % {"low": least, "high": spread.most}


def _all_means(bands: Sequence[tuple[Group, Band]]) -> Floats:
    return np.concatenate([b.middle for _, b in bands]) if bands else np.zeros(0)


def _summary(bands: Sequence[tuple[Group, Band]], format_value: Callable[[float], str], axis: str) -> str:
    """Describe the course of each group's mean in a sentence, as far as all of its seeds have points."""
    parts = []
    for g, b in bands:
        whole = np.flatnonzero(b.n == b.most)
        parts.append(f"{g.name} {course(b.middle[whole], format_value, b.x[whole], axis)} ({_count(b)})")
    return f"{'; '.join(parts)}." if parts else ""


def _table(means: Sequence[tuple[Group, Band]], options: Look, ways: Mapping[Group, Provenance | None]) -> Table:
    out: list[tuple[Cell, ...]] = []
    for g, b in means:
        points = zip(b.n.tolist(), *(numbers(column) for column in (b.x, b.middle, b.low, b.high)), strict=True)
        name, kind = g.name, b.kind
        out += [(name, *point, kind, ways[g]) for point in points]
    return Table(("group", "n", options.x, MIDDLES[options.center], "low", "high", "band", MEASURED), tuple(out))
