"""One run: how it stands, what it measured, what it answered, what it was told to do."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_cancel, may_launch, may_resume
from runs.charts import Chart
from runs.experiments import LAMBDA
from runs.http import SignedIn, UnknownChoice, axes, chart_response, visible_run, zoom_of
from runs.launching.rebuilds import checkpoints_context
from runs.metrics.reading import cursors
from runs.models import AttemptEvent, Run
from runs.responses import responses_context
from runs.run_page.charts.population import population
from runs.run_page.config import config_sections
from runs.run_page.curves import CHART_PX, curve_chart, curve_names, curve_sections
from runs.run_page.engines import engines_context
from runs.run_page.environment import told
from runs.run_page.evaluations import evaluations_context
from runs.run_page.log.views import log_context
from runs.run_page.reproduce_commands import esweb_command, launch_command, train_command
from runs.run_page.status import standing, with_ways


@require_safe
def run(request: SignedIn, uid: str) -> HttpResponse:
    """The whole page."""
    found = visible_run(request, uid)
    watch = cursors([found])
    context = {
        "run": found, "watch": watch, **_curves_context(request, found), "population": population(found),
        **engines_context(found),
        **_standing(request, found), **evaluations_context(found), **_past_context(found),
        **checkpoints_context(request, found),
        **responses_context(request, found), **log_context(request, found),
        "config": config_sections(found.config), "config_json": json.dumps(found.config, indent=2, ensure_ascii=False),
        "by_esweb": esweb_command(found), "by_hand": train_command(found),
        "by_api": launch_command(found, request.build_absolute_uri("/api/v1/runs")),
    }  # fmt: skip
    return TemplateResponse(request, "run_page/run.html", context)


@require_safe
def run_state(request: SignedIn, uid: str) -> HttpResponse:
    """Return the state of the run alone, as a part of its page."""
    found = visible_run(request, uid)
    return TemplateResponse(request, "run_page/run.html#state", {"run": found, **_standing(request, found)})


@require_safe
def run_past(request: SignedIn, uid: str) -> HttpResponse:
    """Attempts and their events, alone."""
    found = visible_run(request, uid)
    return TemplateResponse(request, "run_page/run.html#past", {"run": found, **_past_context(found)})


@require_safe
def run_curves(request: SignedIn, uid: str) -> HttpResponse:
    """All curves, alone: for a page on which a key appeared that it had no chart for."""
    found = visible_run(request, uid)
    return TemplateResponse(request, "run_page/run.html#curves", {"run": found, **_curves_context(request, found)})


@require_safe
def run_chart(request: SignedIn, uid: str) -> HttpResponse:
    """One chart: fresh words and figure, its table, or its data as CSV."""
    found = visible_run(request, uid)
    name = request.GET.get("name", "")
    px = None if request.GET.get("as") == "csv" else CHART_PX
    chart = population(found) if name == "population" else _chart(request, found, name, px)
    return chart_response(request, chart, f"{found.name} {chart.slug}")


def _standing(request: SignedIn, run: Run) -> dict[str, Any]:
    return standing(run) | {
        "may_cancel": may_cancel(request.user, run),
        "may_resume": may_resume(request.user, run),
        "may_launch": may_launch(request.user, run.experiment),
    }


def _curves_context(request: SignedIn, run: Run) -> dict[str, Any]:
    keys, along = metrics.keys(run), axes(request)
    return {"sections": curve_sections(run, keys, along), "known_keys": json.dumps(keys), "axes": along,
            "has_lambda": LAMBDA in keys}  # fmt: skip


def _chart(request: SignedIn, run: Run, name: str, px: int | None) -> Chart:
    keys = metrics.keys(run)
    chart = curve_chart(run, keys, name, axes(request), px, zoom_of(request))
    if chart is None:
        raise UnknownChoice(f"name must be one of population, {', '.join(curve_names(keys))}, not {name!r}")
    return chart


def _past_context(run: Run) -> dict[str, Any]:
    events = AttemptEvent.objects.order_by("at", "pk")
    attempts = run.attempts.select_related("cluster").prefetch_related(Prefetch("events", events)).order_by("-n")
    return {"attempts": told(with_ways(attempts))}
