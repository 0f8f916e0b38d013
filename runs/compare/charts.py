"""Charts of a comparison: a line for each run, or for each group its mean and a band."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.utils.translation import gettext

from runs import metrics
from runs.charts import (
    Chart,
    Group,
    Mark,
    draw_names,
    groups_of,
    keys_for_chart,
    overlay,
    styled_groups,
    with_provenance,
)
from runs.charts.combined import draw_own
from runs.charts.group_charts import measure_of
from runs.charts.own import OwnChart, parse_own
from runs.charts.paths import paths_chart
from runs.compare.chart_groups import groups_of_values
from runs.compare.options import ComparisonSettings
from runs.models import Run
from workers.analysis.keys import REWARD, RIGHT

CHART_PX = 800
TABLE_PX = 60


def gold_paths(keys: Collection[str]) -> list[str]:
    """Return the name of the chart of right answers against the reward; none if no run recorded both."""
    if not {RIGHT, REWARD} <= set(keys):
        return []
    return [OwnChart((RIGHT,), REWARD, gettext("Right answers against reward")).name]


def comparison_groups(runs: Sequence[Run], settings: ComparisonSettings) -> list[Group]:
    """Return the groups of the compared runs: by the chosen columns, or else the seeds of each setting."""
    groups = groups_of_values(runs, settings.group) if settings.group else groups_of(runs)
    return styled_groups(groups, may_write=settings.stores_looks)


def charts_for_names(
    run_marks: Sequence[Mark], names: Iterable[str], settings: ComparisonSettings, px: int | None
) -> list[Chart]:
    """Draw a chart for each key, or chart that a user defined, in the order given: of the marks' groups if the reader
    groups runs, or else a line for each run. Points are read once, whole, and smoothed here."""
    name_list, runs, options = list(names), [mark.run for mark in run_marks], settings.chart_options(px)
    key_list = list(dict.fromkeys(key for name in name_list for key in keys_for_chart(name)))
    curves = {(c.run_id, c.key): c for c in metrics.read(runs, key_list, x=options.x)}
    letters = {mark.run.pk: mark.letter for mark in run_marks}
    origins, groups = metrics.origins_of(runs), list({mark.group.slug: mark.group for mark in run_marks}.values())
    if settings.group:
        return draw_names(name_list, groups, {run.pk for run in runs}, curves.values(), options, origins)
    provenances = metrics.provenances(runs, key_list, origins)

    def along(keys: Sequence[str]) -> list[Chart]:
        charts = [overlay(key, run_marks, curves, options, provenances) for key in keys]
        return [with_provenance(chart, runs, curves, provenances) for chart in charts]

    def against(x_key: str, y_key: str) -> Chart:
        x, y = measure_of(x_key), measure_of(y_key)
        return paths_chart(x, y, groups, {run.pk for run in runs}, curves, options, provenances, letters)

    own_charts = {name: parse_own(name) for name in name_list}
    return [
        chart
        for name, own in own_charts.items()
        for chart in ([draw_own(own, along, against)] if own else along([name]))
    ]
