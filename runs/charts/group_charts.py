"""Charts of groups of runs: a thin line for each seed, and for each group its mean and a band."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from django.utils.translation import gettext

from runs.charts.absence import explain_absence
from runs.charts.axes import ChartOptions, unit_of
from runs.charts.chart import MEASURED, Chart, numbers
from runs.charts.combined import draw_own
from runs.charts.descriptions import course, describe_groups, no_common_point, until_in_words, value_format
from runs.charts.group_lines import band_of, count_in_words, lines_of, thinned, traces
from runs.charts.groups import Curves, Group
from runs.charts.measurement import averaged, ways_of, with_partial, with_provenance, without_means
from runs.charts.own import parse_own
from runs.charts.paths import paths_chart
from runs.charts.scales import is_logarithmic, line_layout, log_words, on_scales
from runs.metrics import MEASURES, Curve, Provenance, Provenances, provenances
from runs.metrics.catalogue import Metric, metric_of
from runs.tables import Cell, Table
from workers.analysis.aggregate import MIDDLES
from workers.analysis.bands import Band
from workers.analysis.keys import KL, REWARD
from workers.executors.states import State

DEFAULT_OPTIONS = ChartOptions()
TRADEOFF = "tradeoff"
KEYS = {measure.name: (measure.key,) for measure in MEASURES} | {TRADEOFF: (REWARD, KL)}
CHARTS = tuple(KEYS)
"""The names of the charts of every experiment, in order."""


def keys_for_chart(name: str) -> tuple[str, ...]:
    """Return the keys that the chart of this name is drawn from: those of a user's own chart, of one of CHARTS, or the
    name itself."""
    own = parse_own(name)
    return own.all_keys if own else KEYS.get(name, (name,))


def group_charts(
    groups: Sequence[Group],
    visible_ids: Iterable[int],
    curves: Iterable[Curve],
    options: ChartOptions = DEFAULT_OPTIONS,
    names: Collection[str] = CHARTS,
    origins: Mapping[int, str] = MappingProxyType({}),
) -> list[Chart]:
    """Return the charts of these names, in their order: one of CHARTS, or a key, whose values it draws along the x
    axis. A table holds the drawn points of the means: every point if no width is given.

    `groups` hold all runs that a mean is taken over; `visible_ids` are the runs that get a line of their own: a mean
    never depends on which runs are visible. `curves` are those of all runs in `groups`. `origins`: source of each run's
    series (`metrics.origins_of`); every chart states how its series were measured, and whether they differ.
    """
    curves_by_key = {(c.run_id, c.key): c for c in curves}
    visible, runs = set(visible_ids), [run for group in groups for run in group.runs]
    keys = list(dict.fromkeys(key for name in names for key in keys_for_chart(name)))
    provenances_by_key = provenances(runs, keys, origins)
    partial = [run for run in runs if run.state == State.PARTIAL]
    charts = []
    for name in names:
        chart = (
            _tradeoff(groups, visible, curves_by_key, options, provenances_by_key)
            if name == TRADEOFF
            else _along(name, measure_of(name), groups, visible, curves_by_key, options, provenances_by_key)
        )
        chart = with_provenance(chart, runs, curves_by_key, provenances_by_key)
        chart = without_means(chart, groups, curves_by_key, provenances_by_key)
        charts.append(with_partial(chart, partial))
    return charts


def measure_of(name: str) -> Metric:
    """Return the headline metric of a name or key, in the reader's language; any other has its name as title."""
    known = next((measure for measure in MEASURES if name in (measure.name, measure.key)), None)
    return known.spoken() if known else Metric(name, name, unit_of(name), is_share=metric_of(name).is_share)


def _tradeoff(
    groups: Sequence[Group], visible: set[int], curves: Curves, options: ChartOptions, provenances: Provenances
) -> Chart:
    chart = paths_chart(measure_of(KL), measure_of(REWARD), groups, visible, curves, options, provenances)
    help_text = gettext(
        "Each line is the path of a run through training; the large marker is its last evaluation. Up and to the "
        "left is better."
    )
    return replace(chart, name=TRADEOFF, title=gettext("Reward against KL"), help=help_text)


def _along(
    name: str,
    measure: Metric,
    groups: Sequence[Group],
    visible: set[int],
    curves: Curves,
    options: ChartOptions,
    provenances: Provenances,
) -> Chart:
    key = measure.key
    drawn_groups, _mixed = averaged(groups, (key,), curves, provenances)
    lines = lines_of(drawn_groups, key, curves, options)
    bands = [(g, band_of(g, lines, options)) for g in drawn_groups]
    bands = [(g, b) for g, b in bands if b.most]
    means = [(g, thinned(b, options)) for g, b in bands]
    drawn_bands = zip(bands, means, strict=True)
    data = [t for (g, b), (_, mean) in drawn_bands for t in traces(g, b, mean, key, visible, lines, options)]
    values = [b.middle for _, b in bands]
    log_y = is_logarithmic(key, values, options)
    is_thinned = options.px is not None and any(len(b.x) > 2 * options.px for _, b in bands)
    figure = {
        "data": on_scales(data, log_x=options.has_log_x, log_y=log_y),
        "layout": line_layout(measure, values, options, thinned=is_thinned),
    }
    format_value = value_format(key, measure.is_share)
    runs = [run for group in groups for run in group.runs]
    summary = _summary(key, [(g, b) for g, b in bands if g in groups], format_value, options.x)
    if not bands:
        summary = explain_absence((key,), runs, curves, options.x)
    ways = [next(iter(ways_of(g.whole, key, curves, provenances)), None) for g, _ in means]
    return Chart(
        name, measure.title, summary + log_words(key, values, options),
        figure, _table(means, options, ways), keys=(key,), help=measure.help,
    )  # fmt: skip


def _summary(key: str, bands: Sequence[tuple[Group, Band]], format_value: Callable[[float], str], axis: str) -> str:
    """Describe the course of each group's mean, where all of its runs have points, until their last common one."""
    return describe_groups(key, [_course_of(g, b, format_value, axis) for g, b in bands])


def _course_of(group: Group, whole: Band, format_value: Callable[[float], str], axis: str) -> tuple[str, float]:
    """Return the sentence about a group's mean, and its last value; NaN if its runs have no point in common."""
    common = np.flatnonzero((whole.n == whole.seeds) & (whole.x <= whole.end))
    if not common.size:
        return f"{group.name} {no_common_point(whole.seeds)}", math.nan
    count = count_in_words(whole)
    if whole.is_uneven:
        count = until_in_words(whole.seeds, whole.end, float(whole.x[-1]), axis)
    middle = whole.middle[common]
    return f"{group.name} {course(middle, format_value, whole.x[common], axis)} ({count})", float(middle[-1])


def _table(means: Sequence[tuple[Group, Band]], options: ChartOptions, ways: Sequence[Provenance | None]) -> Table:
    out: list[tuple[Cell, ...]] = []
    for (g, b), way in zip(means, ways, strict=True):
        points = zip(b.n.tolist(), *(numbers(column) for column in (b.x, b.middle, b.low, b.high)), strict=True)
        name, kind = g.name, b.kind
        out += [(name, *point, kind, way) for point in points]
    center = MIDDLES[options.center] + (f" smoothed {options.smoothing}" if options.smoothing else "")
    return Table(("group", "n", options.x, center, "low", "high", "band", MEASURED), tuple(out))


def draw_names(
    names: Sequence[str],
    groups: Sequence[Group],
    visible_ids: Iterable[int],
    curves: Iterable[Curve],
    options: ChartOptions,
    origins: Mapping[int, str] = MappingProxyType({}),
) -> list[Chart]:
    """Return the charts of these names, in their order: names of `group_charts`, or of charts that a user defined."""
    curve_list, visible = list(curves), set(visible_ids)
    curves_by_key = {(c.run_id, c.key): c for c in curve_list}
    runs = [run for group in groups for run in group.runs]

    def along(keys: Sequence[str]) -> list[Chart]:
        return group_charts(groups, visible, curve_list, options, keys, origins)

    def against(x_key: str, y_key: str) -> Chart:
        x, y = measure_of(x_key), measure_of(y_key)
        ways = provenances(runs, (x_key, y_key), origins)
        return paths_chart(x, y, groups, visible, curves_by_key, options, ways)

    owns = {name: parse_own(name) for name in names}
    plain = {chart.name: chart for chart in along([name for name, own in owns.items() if not own])}
    return [draw_own(own, along, against) if own else plain[name] for name, own in owns.items()]
