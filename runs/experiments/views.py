"""Page of one experiment: its question, its runs, and ES against GRPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_launch, may_make
from runs.chart_layouts import arrange, layout_of
from runs.charts import (
    CHARTS,
    Chart,
    Group,
    default_charts,
    draw_names,
    keys_for_chart,
    leave_out_empty,
    styled_groups,
)
from runs.charts.own import parse_own
from runs.compare.chart_groups import (
    GroupingChoices,
    grouping_choices,
    lines_each,
    newest_of_each,
    seed_groups,
    value_groups,
)
from runs.compare.run_table import (
    MAX_EXPORTED_ROWS,
    RunsTable,
    apply_builder,
    data_table,
    filter_runs,
    notes,
    paper_table,
    runs_table,
)
from runs.experiments.bulk import undo_message
from runs.experiments.lambda_page.charts import LAMBDA
from runs.http import (
    FILES,
    ChartControls,
    SignedIn,
    UnknownChoice,
    chart_controls,
    chart_response,
    must_be_one_of,
    require_choice,
    table_response,
    visible_experiment,
)
from runs.launching.views import interrupted_runs
from runs.metrics import cursors
from runs.models import ChartLayout, Experiment, Series

CHART_PX = 800
MAX_CHARTED_RUNS = 10
MAX_SWEEPS = 20


@require_safe
def experiment(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    experiment = visible_experiment(request, pk)
    table, controls = runs_table(request, experiment), chart_controls(request)
    if (address := apply_builder(request, table.query)) is not None:
        return redirect(experiment.get_absolute_url() + address)
    groups = _groups(request, experiment, table)
    chart_layout = layout_of(request, ChartLayout.Page.EXPERIMENT, experiment)
    charted = [run for group in groups for run in group.runs]
    names = default_charts(charted, table.query.vocabulary.metrics)
    charts = _charts(groups, table, controls, CHART_PX, [*names, *(own.name for own in chart_layout.own_charts)])
    charts = [*leave_out_empty(charts[: len(names)], charted, controls.x), *charts[len(names) :]]
    context = {
        **_table_context(request, experiment, table), "groups": groups, "controls": controls,
        "drawn": 0 if table.groups else len(table.runs[:MAX_CHARTED_RUNS]),
        "drawn_each": lines_each(groups) if table.groups else 0,
        "grouping_choices": _grouping_choices(request, table),
        "may_launch": may_launch(request.user, experiment), "chart_layout": chart_layout,
        "placed_charts": arrange(charts, chart_layout), "chart_keys": table.query.vocabulary.metrics,
        "sweeps": experiment.sweeps.order_by("-pk")[:MAX_SWEEPS],
        "has_lambda": Series.objects.filter(run__experiment=experiment, key=LAMBDA).exists(),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/experiment.html", context)


@require_safe
def experiment_runs(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the runs table, for a page that is open while runs change."""
    experiment = visible_experiment(request, pk)
    context = _table_context(request, experiment, runs_table(request, experiment))
    return TemplateResponse(request, "experiments/experiment.html#runs", context)


@require_safe
def experiment_table(request: SignedIn, pk: int) -> HttpResponse:
    """Return all matching rows, up to a limit, of the table that the address selects, as `as` says: csv or latex.

    Without `as`, redirect to the CSV. Raise UnknownChoice for a query with a problem.
    """
    experiment = visible_experiment(request, pk)
    if "as" not in request.GET:
        query = request.GET.copy()
        query["as"] = FILES[0]
        return redirect(f"{request.path}?{query.urlencode()}")
    form = require_choice(request, "as", FILES, FILES[0])
    table = runs_table(request, experiment, MAX_EXPORTED_ROWS)
    if table.problems:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in table.problems))
    content = data_table(table) if form == "csv" else paper_table(table)
    return table_response(request, content, f"{experiment.name} runs", notes(table, experiment.name))


@require_safe
def experiment_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    table = runs_table(request, experiment, with_values=False)
    if table.problems:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in table.problems))
    px = None if request.GET.get("as") == "csv" else CHART_PX
    name, groups = request.GET.get("name", ""), _groups(request, experiment, table)
    if name not in CHARTS and parse_own(name) is None and name not in (keys := _keys(groups)):
        raise UnknownChoice(must_be_one_of("name", [*CHARTS, *keys], name))
    (chart,) = _charts(groups, table, chart_controls(request), px, [name])
    return chart_response(request, chart, f"{experiment.name} {name}")


def _table_context(request: SignedIn, experiment: Experiment, table: RunsTable) -> dict[str, Any]:
    return {
        "experiment": experiment, "table": table, "asked": table.query, "watch": cursors(table.displayed_runs),
        "interrupted": interrupted_runs(request, experiment).count(), "undo": undo_message(request, experiment),
        "may_change_some": may_make(request.user),
    }  # fmt: skip


def _groups(request: SignedIn, experiment: Experiment, table: RunsTable) -> list[Group]:
    """Return the groups that charts show: those of the table, if its rows are groups, or else the settings of its first
    runs, each with all its seeds."""
    if table.groups:
        matching, _problems = filter_runs(experiment.runs.filter(deleted_at__isnull=True), table.query)
        groups = value_groups(matching, table.query.group, [group.row.newest for group in table.groups])
    else:
        groups = seed_groups(experiment.runs.current(), table.runs[:MAX_CHARTED_RUNS])
    return styled_groups(groups, may_write=may_make(request.user))


def _grouping_choices(request: SignedIn, table: RunsTable) -> GroupingChoices:
    keys = [key for key in table.query.vocabulary.keys if key not in table.query.vocabulary.metrics]
    return grouping_choices(request, table.query.group, ((None, gettext("all but seed")),), keys)


def _keys(groups: Sequence[Group]) -> list[str]:
    """Return the keys that the runs of these groups have points of."""
    series = Series.objects.filter(run__in=[run.pk for group in groups for run in group.runs])
    return list(series.order_by("key").values_list("key", flat=True).distinct())


def _charts(
    groups: Sequence[Group],
    table: RunsTable,
    controls: ChartControls,
    px: int | None,
    names: Sequence[str],
) -> list[Chart]:
    """Return the charts of these names; read only the series that they use."""
    runs = [run for group in groups for run in group.runs]
    curves = metrics.read(runs, [key for name in names for key in keys_for_chart(name)], x=controls.x)
    visible = newest_of_each(groups) if table.groups else {run.pk for run in table.runs[:MAX_CHARTED_RUNS]}
    return draw_names(names, groups, visible, curves, controls.options(px), metrics.origins_of(runs))
