"""ES against GRPO: a thin line a seed, and for each group its mean and a band."""

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
from workers.analysis.bands import Band, Ints, band
from workers.analysis.middles import MIDDLES, Floats
from workers.executors.states import State

GAP = np.array([np.nan])
AS_USUAL = Look()
TRADEOFF = "tradeoff"
KEYS = {measure.name: (measure.key,) for measure in MEASURES} | {TRADEOFF: (REWARD, KL)}
CHARTS = tuple(KEYS)
"""The names of the charts of an experiment, in order."""


def keys_of(name: str) -> tuple[str, ...]:
    """The keys that the chart of this name is drawn from; none where there is no such chart."""
    return KEYS.get(name, ())


def compare(
    groups: Sequence[Group],
    shown: Iterable[int],
    curves: Iterable[Curve],
    how: Look = AS_USUAL,
    names: Collection[str] = CHARTS,
    origins: Mapping[int, str] = MappingProxyType({}),
) -> list[Chart]:
    """The experiment's charts of these names: each measure along `x`, then reward against KL. A table has what is drawn
    of the means: every point where no width is given.

    `groups` hold all seeds that a mean is taken over; `shown` are the ids of the runs that get a line of their own:
    a mean never depends on what else is shown. `curves` are those of all runs in `groups`. `origins`: where each run's
    series come from (`series.origins_of`); every chart says how its series were measured, and whether they differ.
    """
    kept = {(c.run_id, c.key): c for c in curves}
    seen, runs = set(shown), [run for group in groups for run in group.runs]
    measured = provenances(runs, (REWARD, KL, ACCURACY), origins)
    charts = [_along(m.spoken(), groups, seen, kept, how, measured) for m in MEASURES if m.name in names]
    charts += [tradeoff(groups, seen, kept, how.log_kl, measured)] if TRADEOFF in names else []
    charts = [without_means(with_provenance(chart, runs, kept, measured), groups, kept, measured) for chart in charts]
    partial = [run for run in runs if run.state == State.PARTIAL]
    return [with_partial(chart, partial) for chart in charts]


def _along(
    measure: Measure, groups: Sequence[Group], shown: set[int], curves: Curves, how: Look, measured: Provenances
) -> Chart:
    x, log_y = how.x, how.log_kl and measure.key == KL
    drawn_groups, _mixed = averaged(groups, (measure.key,), curves, measured)
    bands = [(g, _band(g, measure.key, curves, how)) for g in drawn_groups]
    bands = [(g, b) for g, b in bands if b.most]
    means = [(g, _thinned(b, how)) for g, b in bands]
    drawn = zip(bands, means, strict=True)
    data = [t for (g, b), (_, mean) in drawn for t in _traces(g, b, mean, measure.key, shown, curves, how)]
    if log_y:
        data = [style.without_nonpositive(trace, "y") for trace in data]
    thinned = how.px is not None and any(len(b.x) > 2 * how.px for _, b in bands)
    layout = style.layout(spoken(X_WORDS[x]), measure.unit, log_y=log_y, meta={"x": x, "thinned": thinned})
    if measure.is_share:
        layout["yaxis"] |= {"tickformat": ".0%", **style.room(_all_means(bands), is_share=True)}
    words = _words([(g, b) for g, b in bands if g in groups], share if measure.is_share else number)
    ways = {g: next(iter(ways_of(g.whole, measure.key, curves, measured)), None) for g, _ in means}
    return Chart(
        measure.name, measure.title, words if bands else gettext("No evaluation yet."),
        {"data": data, "layout": layout}, _table(means, how, ways), keys=(measure.key,), help=measure.help,
    )  # fmt: skip


def _band(group: Group, key: str, curves: Curves, how: Look) -> Band:
    lines = [line(curves[run.pk, key]) for run in group.whole if (run.pk, key) in curves]
    return band(lines, how.center, how.spread)


def _corners(x: Floats, y: Floats, how: Look, pieces: Ints | None = None) -> Ints:
    """Which points of a line are drawn."""
    return m4(x, y, how.px, pieces=pieces, zoom=how.zoom) if how.px and len(x) else np.arange(len(x))


def _thinned(whole: Band, how: Look) -> Band:
    """The band at the corners of its middle line."""
    kept = _corners(whole.x, whole.middle, how)
    x, middle, low, high = (column[kept] for column in (whole.x, whole.middle, whole.low, whole.high))
    return replace(whole, x=x, middle=middle, low=low, high=high, n=whole.n[kept])


def _traces(
    group: Group, whole: Band, mean: Band, key: str, shown: set[int], curves: Curves, how: Look
) -> list[dict[str, Any]]:
    several = whole.most > 1
    mine = [(run, line(curves[run.pk, key])) for run in group.runs if run.pk in shown and (run.pk, key) in curves]
    kept = [_corners(x, y, how) for _, (x, y) in mine]
    seeds = [
        _seed(group, run.uid, run.name, key, (x[seen], y[seen]), several)
        for (run, (x, y)), seen in zip(mine, kept, strict=True)
    ]
    if not several:
        return seeds
    return [_area(group, whole, how), *seeds, _middle(group, mean)]


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


def _area(group: Group, spread: Band, how: Look) -> dict[str, Any]:
    """The band; where one seed is alone there is none, and it falls into pieces."""
    x, y = _outline(spread, how)
    return {
        **look(group), "mode": "lines", "name": f"{group.name}, {spoken(spread.kind)}", "hoverinfo": "skip",
        "meta": {"colour": group.colour, "alpha": 0.13}, "x": numbers(x), "y": numbers(y), "fill": "toself",
        "fillcolor": style.paint(group.colour, 0.13), "line": {"width": 0, "color": style.paint(group.colour, 0)},
    }  # fmt: skip


def _outline(spread: Band, how: Look) -> tuple[Floats, Floats]:
    """(x, y) around each piece of the band, along its upper edge and back along its lower one; a gap between two."""
    wide = np.isfinite(spread.low) & np.isfinite(spread.high)
    upper, lower = (_pieces(spread.x, edge, wide, how) for edge in (spread.high, spread.low))
    around = []
    for above, below in zip(upper, lower, strict=True):
        back = below[::-1]
        around += [(spread.x[above], spread.high[above]), (spread.x[back], spread.low[back]), (GAP, GAP)]
    x, y = (np.concatenate(column)[:-1] for column in zip(*around, strict=True))
    return x, y


def _pieces(x: Floats, edge: Floats, wide: NDArray[np.bool_], how: Look) -> list[Ints]:
    """Which points of an edge are drawn, a list for each piece of the band, which is where it is `wide`."""
    if wide.all():
        return [_corners(x, edge, how)]
    there, piece = np.flatnonzero(wide), np.cumsum(~wide, dtype=np.int64)
    kept = there[_corners(x[there], edge[there], how, piece[there])]
    return np.split(kept, np.flatnonzero(np.diff(piece[kept])) + 1)


def _count(spread: Band) -> str:
    """Return the number of seeds in words: `n = 5`, or `n = 3 to 5` if it is not the same at every point."""
    least = int(spread.n.min(initial=spread.most))
    if least == spread.most:
        return f"n = {spread.most}"
    return gettext("n = %(low)s to %(high)s") % {"low": least, "high": spread.most}


def _all_means(bands: Sequence[tuple[Group, Band]]) -> Floats:
    return np.concatenate([b.middle for _, b in bands]) if bands else np.zeros(0)


def _words(bands: Sequence[tuple[Group, Band]], written: Callable[[float], str]) -> str:
    """From where to where each group came, as far as all of its seeds did."""
    said = []
    for g, b in bands:
        whole = np.flatnonzero(b.n == b.most)
        said.append(f"{g.name} {course(b.middle[whole], written)} ({_count(b)})")
    return f"{'; '.join(said)}." if said else ""


def _table(means: Sequence[tuple[Group, Band]], how: Look, ways: Mapping[Group, Provenance | None]) -> Table:
    out: list[tuple[Cell, ...]] = []
    for g, b in means:
        points = zip(b.n.tolist(), *(numbers(column) for column in (b.x, b.middle, b.low, b.high)), strict=True)
        name, kind = g.name, b.kind
        out += [(name, *point, kind, ways[g]) for point in points]
    return Table(("group", "n", how.x, MIDDLES[how.center], "low", "high", "band", MEASURED), tuple(out))
