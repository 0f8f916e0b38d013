"""Curves of a sweep: its cells, or groups by any of its keys, each with its mean and a band."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_make
from runs.chart_layouts import arrange, layout_of
from runs.charts import CHARTS, Chart, Group, default_charts, draw_names, keys_for_chart, styled_groups
from runs.charts.own import parse_own
from runs.compare.chart_groups import (
    SEEDS,
    best_groups,
    grouping_choices,
    lines_each,
    newest_of_each,
    parse_group_columns,
)
from runs.compare.run_table import Vocabulary, config_keys
from runs.http import ChartControls, SignedIn, UnknownChoice, chart_controls, chart_response, must_be_one_of
from runs.launching.sweeps.status import runs_of
from runs.launching.sweeps.views import visible_sweep
from runs.models import ChartLayout, Run, Series, Sweep

CHART_PX = 800


@require_safe
def sweep_curves(request: SignedIn, pk: int) -> HttpResponse:
    """Render the charts of a sweep with their controls, as a part of its page."""
    sweep, controls = visible_sweep(request, pk), chart_controls(request)
    groups, total = _groups(request, sweep)
    columns = parse_group_columns(request.GET.getlist("group"), Vocabulary(()))
    first = ((None, gettext("cell")), *((key, key) for key in sweep.keys))
    chart_layout = layout_of(request, ChartLayout.Page.SWEEP)
    keys = _keys(runs_of(sweep))
    charts = default_charts([run for group in groups for run in group.runs], keys)
    names = [*charts, *(own.name for own in chart_layout.own_charts)]
    context = {
        "sweep": sweep, "drawn_each": lines_each(groups), "groups": groups, "total": total, "controls": controls,
        "chart_layout": chart_layout, "chart_keys": keys,
        "placed_charts": arrange(_charts(groups, controls, CHART_PX, names), chart_layout),
        "grouping_choices": grouping_choices(request, columns, first, [SEEDS, "seed", *config_keys()]),
    }  # fmt: skip
    return TemplateResponse(request, "launching/sweep_charts.html", context)


@require_safe
def sweep_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    sweep, name = visible_sweep(request, pk), request.GET.get("name", "")
    if name not in CHARTS and parse_own(name) is None and name not in (keys := _keys(runs_of(sweep))):
        raise UnknownChoice(must_be_one_of("name", [*CHARTS, *keys], name))
    px = None if request.GET.get("as") == "csv" else CHART_PX
    groups, _total = _groups(request, sweep)
    (chart,) = _charts(groups, chart_controls(request), px, [name])
    return chart_response(request, chart, f"{sweep.name} {name}")


def _groups(request: SignedIn, sweep: Sweep) -> tuple[list[Group], int]:
    """Return the groups that charts show, those with the highest held-out reward, and the number of all groups."""
    keys = request.GET.getlist("group") or [SEEDS]
    groups, total = best_groups(runs_of(sweep), parse_group_columns(keys, Vocabulary(())))
    return styled_groups(groups, may_write=may_make(request.user)), total


def _keys(runs: QuerySet[Run]) -> list[str]:
    return list(Series.objects.filter(run__in=runs).order_by("key").values_list("key", flat=True).distinct())


def _charts(groups: Sequence[Group], controls: ChartControls, px: int | None, names: Sequence[str]) -> list[Chart]:
    """Return the charts of these names."""
    runs = [run for group in groups for run in group.runs]
    curves = metrics.read(runs, [key for name in names for key in keys_for_chart(name)], x=controls.x)
    return draw_names(names, groups, newest_of_each(groups), curves, controls.options(px), metrics.origins_of(runs))
