"""One experiment: its question, its runs, and ES against GRPO."""

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
from runs.compare.charts.methods import CHARTS, compare, keys_of
from runs.compare.run_table import RunsTable, built, runs_table
from runs.experiments.bulk import undo_of
from runs.experiments.lambda_page.charts import LAMBDA
from runs.http import Axes, SignedIn, UnknownChoice, axes, chart_response, visible_experiment, zoom_of
from runs.launching.views import interrupted_runs
from runs.metrics import Span, cursors
from runs.models import Experiment, Run, Series

CHART_PX = 800
DRAWN_AT_MOST = 10
SWEEPS_NAMED = 20
MEANS_OVER_AT_MOST = 100


@require_safe
def experiment(request: SignedIn, pk: int) -> HttpResponse:
    """The whole page."""
    found = visible_experiment(request, pk)
    table, along = runs_table(request, found), axes(request)
    if (address := built(request, table.asked)) is not None:
        return redirect(found.get_absolute_url() + address)
    drawn = table.runs[:DRAWN_AT_MOST]
    groups = _groups(found, drawn)
    context = {
        **_table_context(request, found, table), "groups": groups, "axes": along, "drawn": len(drawn),
        "may_launch": may_launch(request.user, found), "charts": _charts(groups, drawn, along),
        "sweeps": found.sweeps.order_by("-pk")[:SWEEPS_NAMED],
        "has_lambda": Series.objects.filter(run__experiment=found, key=LAMBDA).exists(),
        "averaged": sum(len(group.runs) for group in groups),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/experiment.html", context)


@require_safe
def experiment_runs(request: SignedIn, pk: int) -> HttpResponse:
    """The runs table alone, for a page that is open while runs change."""
    found = visible_experiment(request, pk)
    context = _table_context(request, found, runs_table(request, found))
    return TemplateResponse(request, "experiments/experiment.html#runs", context)


@require_safe
def experiment_chart(request: SignedIn, pk: int) -> HttpResponse:
    """One chart: fresh words and figure, its table, or its data as CSV."""
    found = visible_experiment(request, pk)
    table = runs_table(request, found)
    if table.problems:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in table.problems))
    runs = table.runs[:DRAWN_AT_MOST]
    px = None if request.GET.get("as") == "csv" else CHART_PX
    name = request.GET.get("name", "")
    if name not in CHARTS:
        raise UnknownChoice(f"name must be one of {', '.join(CHARTS)}, not {name!r}")
    (chart,) = _charts(_groups(found, runs), runs, axes(request), px, zoom_of(request), [name])
    return chart_response(request, chart, f"{found.name} {name}")


def _table_context(request: SignedIn, experiment: Experiment, table: RunsTable) -> dict[str, Any]:
    return {
        "experiment": experiment, "table": table, "asked": table.asked, "watch": cursors(table.runs),
        "interrupted": interrupted_runs(request, experiment).count(), "undo": undo_of(request, experiment),
        "may_change_some": may_make(request.user),
    }  # fmt: skip


def _groups(experiment: Experiment, shown: list[Run]) -> list[Group]:
    """The groups of the shown runs, with all their seeds: a mean never depends on which page of the table is open."""
    presets = {run.preset for run in shown}
    current = metrics.with_origins(experiment.runs.current())
    seeds = current.filter(preset__in=presets).order_by("-pk")[:MEANS_OVER_AT_MOST]
    visible = {run.pk for run in shown}
    groups = groups_of({run.pk: run for run in (*seeds, *shown)}.values())
    return [group for group in groups if visible & {run.pk for run in group.runs}]


def _charts(
    groups: list[Group],
    shown: list[Run],
    along: Axes,
    px: int | None = CHART_PX,
    zoom: Span | None = None,
    names: Sequence[str] = CHARTS,
) -> list[Chart]:
    """The charts of these names; only what they are drawn from is read."""
    runs = [run for group in groups for run in group.runs]
    curves = metrics.read(runs, [key for name in names for key in keys_of(name)], x=along.x)
    return compare(groups, {run.pk for run in shown}, curves, along.look(px, zoom), names, metrics.origins_of(runs))
