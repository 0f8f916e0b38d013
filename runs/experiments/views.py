"""Page of one experiment: its question, its runs, and ES against GRPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_launch, may_make
from runs.charts import Chart, Group, groups_of
from runs.compare.charts.methods import CHARTS, compare_methods, keys_for_chart
from runs.compare.run_table import RunsTable, apply_builder, runs_table
from runs.experiments.bulk import undo_message
from runs.experiments.lambda_page.charts import LAMBDA
from runs.http import Axes, SignedIn, UnknownChoice, axes, chart_response, visible_experiment, zoom_of
from runs.launching.views import interrupted_runs
from runs.metrics import Span, cursors
from runs.models import Experiment, Run, Series

CHART_PX = 800
MAX_CHARTED_RUNS = 10
MAX_SWEEPS = 20
MAX_AVERAGED_RUNS = 100


@require_safe
def experiment(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    experiment = visible_experiment(request, pk)
    table, axis_options = runs_table(request, experiment), axes(request)
    if (address := apply_builder(request, table.query)) is not None:
        return redirect(experiment.get_absolute_url() + address)
    charted = table.runs[:MAX_CHARTED_RUNS]
    groups = _groups(experiment, charted)
    context = {
        **_table_context(request, experiment, table), "groups": groups, "axes": axis_options, "drawn": len(charted),
        "may_launch": may_launch(request.user, experiment), "charts": _charts(groups, charted, axis_options),
        "sweeps": experiment.sweeps.order_by("-pk")[:MAX_SWEEPS],
        "has_lambda": Series.objects.filter(run__experiment=experiment, key=LAMBDA).exists(),
        "averaged": sum(len(group.runs) for group in groups),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/experiment.html", context)


@require_safe
def experiment_runs(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the runs table, for a page that is open while runs change."""
    experiment = visible_experiment(request, pk)
    context = _table_context(request, experiment, runs_table(request, experiment))
    return TemplateResponse(request, "experiments/experiment.html#runs", context)


@require_safe
def experiment_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    table = runs_table(request, experiment)
    if table.problems:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in table.problems))
    runs = table.runs[:MAX_CHARTED_RUNS]
    px = None if request.GET.get("as") == "csv" else CHART_PX
    name = request.GET.get("name", "")
    if name not in CHARTS:
        raise UnknownChoice(f"name must be one of {', '.join(CHARTS)}, not {name!r}")
    (chart,) = _charts(_groups(experiment, runs), runs, axes(request), px, zoom_of(request), [name])
    return chart_response(request, chart, f"{experiment.name} {name}")


def _table_context(request: SignedIn, experiment: Experiment, table: RunsTable) -> dict[str, Any]:
    return {
        "experiment": experiment, "table": table, "asked": table.query, "watch": cursors(table.runs),
        "interrupted": interrupted_runs(request, experiment).count(), "undo": undo_message(request, experiment),
        "may_change_some": may_make(request.user),
    }  # fmt: skip


def _groups(experiment: Experiment, runs: list[Run]) -> list[Group]:
    """Return the groups of these runs, with all their seeds: a mean never depends on the page of the table that is
    open."""
    presets = {run.preset for run in runs}
    current = metrics.with_origins(experiment.runs.current())
    seeds = current.filter(preset__in=presets).order_by("-pk")[:MAX_AVERAGED_RUNS]
    visible = {run.pk for run in runs}
    groups = groups_of({run.pk: run for run in (*seeds, *runs)}.values())
    return [group for group in groups if visible & {run.pk for run in group.runs}]


def _charts(
    groups: list[Group],
    charted_runs: list[Run],
    axis_options: Axes,
    px: int | None = CHART_PX,
    zoom: Span | None = None,
    names: Sequence[str] = CHARTS,
) -> list[Chart]:
    """Return the charts of these names; read only the series that they use."""
    runs = [run for group in groups for run in group.runs]
    curves = metrics.read(runs, [key for name in names for key in keys_for_chart(name)], x=axis_options.x)
    return compare_methods(
        groups, {run.pk for run in charted_runs}, curves, axis_options.look(px, zoom), names, metrics.origins_of(runs)
    )
