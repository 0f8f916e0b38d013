"""Page of one run: its state, its curves, its responses, its config."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_cancel, may_launch, may_resume
from runs.chart_layouts import arrange, layout_of
from runs.charts import Chart, Group, Spec, draw_charts, draw_names
from runs.charts.own import OwnChart, parse_own
from runs.experiments import LAMBDA
from runs.flags.views import flags_context
from runs.http import ChartControls, SignedIn, UnknownChoice, chart_controls, chart_response, visible_run
from runs.launching.rebuilds import checkpoints_context
from runs.metrics import cursors
from runs.models import AttemptEvent, ChartLayout, Run
from runs.responses import responses_context
from runs.responses.viewer.views import is_covered
from runs.run_page.charts.population import population
from runs.run_page.charts.sections import Plan, Section, plans
from runs.run_page.config import config_sections, esweb_command, launch_command, train_command
from runs.run_page.engines import engines_context
from runs.run_page.environment import environment_rows
from runs.run_page.evaluations import evaluations_context
from runs.run_page.log.views import log_context
from runs.run_page.status import status_context, with_delivery

CHART_PX = 600
INITIAL_CHARTS = 16


def curve_sections(run: Run, keys: list[str], controls: ChartControls) -> list[Section]:
    """Return all sections of these keys; only the first charts of unfolded sections are drawn."""
    planned = _plans(run, keys)
    first = [spec for plan in planned if not plan.section(()).is_folded for spec in plan.specs][:INITIAL_CHARTS]
    charts_by_name = {chart.name: chart for chart in _charts(run, first, controls, CHART_PX)}
    # A spec without points along this axis has no chart; for specs that are not drawn yet this is known only after
    # reading.
    missing = {spec.name for spec in first} - set(charts_by_name)
    filled = (
        plan.section(charts_by_name.get(spec.name) or spec.waiting() for spec in plan.specs if spec.name not in missing)
        for plan in planned
    )
    return [section for section in filled if section.charts]


def curve_chart(run: Run, keys: list[str], name: str, controls: ChartControls, px: int | None) -> Chart | None:
    """Return one of the charts of these keys, read alone; None if there is none of this name."""
    specs = [spec for plan in _plans(run, keys) for spec in plan.specs if spec.name == name][:1]
    charts = _charts(run, specs, controls, px) or [spec.empty() for spec in specs]
    return charts[0] if charts else None


def curve_names(keys: list[str]) -> list[str]:
    """Return the names of all charts of these keys."""
    return [spec.name for plan in plans(keys) for spec in plan.specs]


def _plans(run: Run, keys: list[str]) -> list[Plan]:
    """Return the sections of these keys, in which every held-out line states how it was measured."""
    provenances = metrics.provenances([run], keys, metrics.origins_of([run]))
    return plans(keys, {key: provenance for (_run, key), provenance in provenances.items()})


def _charts(run: Run, specs: list[Spec], controls: ChartControls, px: int | None) -> list[Chart]:
    """Return the charts of those specs that have points. Those with an axis and a width in common are read together."""
    options, groups = controls.options(px), dict[tuple[str, int | None], list[Spec]]()
    for spec in specs:
        # Phases are added up, and lines smoothed, over all points.
        width = None if spec.draw or options.smoothing else px
        groups.setdefault((spec.x or options.x, width), []).append(spec)
    charts: list[Chart] = []
    for (x, width), group in groups.items():
        keys = [key for spec in group for key in (*spec.keys, *spec.also)]
        zoom = options.zoom if width and x == options.x else None
        curves = {curve.key: curve for curve in metrics.read([run], keys, x=x, px=width, zoom=zoom)}
        charts += draw_charts(run, group, curves, replace(options, x=x, zoom=zoom))
    return charts


@require_safe
def run(request: SignedIn, uid: str) -> HttpResponse:
    """Render the whole page."""
    run = visible_run(request, uid)
    watch = cursors([run])
    context = {
        "run": run, "watch": watch, **_curves_context(request, run), "population": population(run),
        **engines_context(run),
        **_status_context(request, run), **evaluations_context(run), **_past_context(run),
        **checkpoints_context(request, run),
        **responses_context(request, run), **log_context(request, run),
        "config": config_sections(run.config), "config_json": json.dumps(run.config, indent=2, ensure_ascii=False),
        "by_esweb": esweb_command(run), "by_hand": train_command(run),
        "by_api": launch_command(run, request.build_absolute_uri("/api/v1/runs")),
    }  # fmt: skip
    return TemplateResponse(request, "run_page/run.html", context)


@require_safe
def run_state(request: SignedIn, uid: str) -> HttpResponse:
    """Return the state of the run alone, as a part of its page."""
    run = visible_run(request, uid)
    return TemplateResponse(request, "run_page/state.html", {"run": run, **_status_context(request, run)})


@require_safe
def run_past(request: SignedIn, uid: str) -> HttpResponse:
    """Render attempts and their events alone."""
    run = visible_run(request, uid)
    return TemplateResponse(request, "run_page/attempts.html", {"run": run, **_past_context(run)})


@require_safe
def run_curves(request: SignedIn, uid: str) -> HttpResponse:
    """Render all curves alone, for a page on which a key without a chart appeared."""
    run = visible_run(request, uid)
    return TemplateResponse(request, "run_page/curves.html", {"run": run, **_curves_context(request, run)})


@require_safe
def run_chart(request: SignedIn, uid: str) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    run = visible_run(request, uid)
    name = request.GET.get("name", "")
    px = None if request.GET.get("as") == "csv" else CHART_PX
    chart = population(run) if name == "population" else _chart(request, run, name, px)
    return chart_response(request, chart, f"{run.name} {chart.slug}")


def _status_context(request: SignedIn, run: Run) -> dict[str, Any]:
    flags = flags_context(request, run)
    return {
        **status_context(run), **flags, "flags_covered": flags["flags"].may_disturb and is_covered(request),
        "may_cancel": may_cancel(request.user, run), "may_resume": may_resume(request.user, run),
        "may_launch": may_launch(request.user, run.experiment),
    }  # fmt: skip


def _curves_context(request: SignedIn, run: Run) -> dict[str, Any]:
    keys, controls = metrics.keys(run), chart_controls(request)
    chart_layout = layout_of(request, ChartLayout.Page.RUN)
    own = [own_run_chart(run, chart, controls, CHART_PX) for chart in chart_layout.own_charts]
    sections = curve_sections(run, keys, controls)
    return {
        "sections": [(section, arrange(section.charts, chart_layout)) for section in sections],
        "own_charts": arrange(own, chart_layout), "chart_layout": chart_layout, "chart_keys": keys,
        "known_keys": json.dumps(keys), "controls": controls, "has_lambda": LAMBDA in keys,
    }  # fmt: skip


def own_run_chart(run: Run, own: OwnChart, controls: ChartControls, px: int | None) -> Chart:
    """Return a chart that a user defined, of one run."""
    options, line = controls.options(px), Group(run.method, run.name, 0, (run,))
    curves = metrics.read([run], own.all_keys, x=controls.x)
    (chart,) = draw_names([own.name], [line], [run.pk], curves, options, metrics.origins_of([run]))
    return chart


def _chart(request: SignedIn, run: Run, name: str, px: int | None) -> Chart:
    keys, controls = metrics.keys(run), chart_controls(request)
    if own := parse_own(name):
        return own_run_chart(run, own, controls, px)
    chart = curve_chart(run, keys, name, controls, px)
    if chart is None:
        raise UnknownChoice(f"name must be one of population, {', '.join(curve_names(keys))}, not {name!r}")
    return chart


def _past_context(run: Run) -> dict[str, Any]:
    events = AttemptEvent.objects.order_by("at", "pk")
    attempts = run.attempts.select_related("cluster").prefetch_related(Prefetch("events", events)).order_by("-n")
    return {"attempts": environment_rows(with_delivery(attempts))}
