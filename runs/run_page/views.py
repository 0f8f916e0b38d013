"""One run: how it stands, what it measured, what it answered, what it was told to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs import metrics
from runs.access import may_cancel, may_launch, may_resume
from runs.charts import Chart, Spec, drawn
from runs.experiments import LAMBDA
from runs.http import Axes, SignedIn, UnknownChoice, axes, chart_response, visible_run, zoom_of
from runs.launching.rebuilds import checkpoints_context
from runs.metrics import Span, cursors
from runs.models import AttemptEvent, Run
from runs.responses import responses_context
from runs.run_page.charts.population import population
from runs.run_page.charts.sections import Plan, Section, plans
from runs.run_page.config import config_sections, esweb_command, launch_command, train_command
from runs.run_page.engines import engines_context
from runs.run_page.environment import told
from runs.run_page.log.views import log_context
from runs.run_page.status import standing, with_ways

CHART_PX = 600
DRAWN_AT_FIRST = 16
SHARES = ("accuracy/contains", "safety/safe_ratio")


def curve_sections(run: Run, keys: list[str], along: Axes) -> list[Section]:
    """All sections of these keys; drawn are the first charts of those that are not folded."""
    planned = _plans(run, keys)
    first = [spec for plan in planned if not plan.section(()).is_folded for spec in plan.specs][:DRAWN_AT_FIRST]
    made = {chart.name: chart for chart in _charts(run, first, along, CHART_PX)}
    # What is not there along this axis has no chart; of the others that is only known once they are read.
    gone = {spec.name for spec in first} - set(made)
    filled = (
        plan.section(made.get(spec.name) or spec.waiting() for spec in plan.specs if spec.name not in gone)
        for plan in planned
    )
    return [section for section in filled if section.charts]


def curve_chart(
    run: Run, keys: list[str], name: str, along: Axes, px: int | None, zoom: Span | None = None
) -> Chart | None:
    """One of the charts of these keys, from its own alone; None where there is none of this name."""
    found = [spec for plan in _plans(run, keys) for spec in plan.specs if spec.name == name][:1]
    charts = _charts(run, found, along, px, zoom) or [spec.empty() for spec in found]
    return charts[0] if charts else None


def curve_names(keys: list[str]) -> list[str]:
    """Return the names of all charts of these keys."""
    return [spec.name for plan in plans(keys) for spec in plan.specs]


def _plans(run: Run, keys: list[str]) -> list[Plan]:
    """The sections of these keys, in which every held-out line says how it was measured."""
    measured = metrics.provenances([run], keys, metrics.origins_of([run]))
    return plans(keys, {key: one for (_run, key), one in measured.items()})


def _charts(run: Run, specs: list[Spec], along: Axes, px: int | None, zoom: Span | None = None) -> list[Chart]:
    """Return the charts of those specs that have points. Those with an axis and a width in common are read together."""
    groups: dict[tuple[str, int | None], list[Spec]] = {}
    for spec in specs:
        groups.setdefault((spec.x or along.x, None if spec.draw else px), []).append(spec)
    charts: list[Chart] = []
    for (x, width), group in groups.items():
        keys = [key for spec in group for key in (*spec.keys, *spec.also)]
        curves = {curve.key: curve for curve in metrics.read([run], keys, x=x, px=width, zoom=zoom if width else None)}
        charts += drawn(run, group, curves, x, along.log_kl, px)
    return charts


COLUMNS = {
    "reward/mean": _("Reward"),
    "accuracy/contains": _("Accuracy"),
    "kl": _("KL, nats per token"),
    "cost/mean": _("Cost"),
    "safety/safe_ratio": _("Safe"),
    "eval/n": _("Answers"),
}


@dataclass(frozen=True)
class Cell:
    """A number of an evaluation, None if it has none; `is_share`: it is written in percent."""

    title: str
    value: float | None
    is_share: bool


@dataclass(frozen=True)
class EvaluationRow:
    """An evaluation. `measured`: how its reward was measured, in words."""

    run: Run
    cells: list[Cell]
    measured: str


def evaluations_context(training: Run) -> dict[str, Any]:
    """Return the rows of a training's evaluations, and the titles of the columns that any of them fills."""
    runs = list(training.evaluations.filter(deleted_at=None).order_by("created_at", "pk"))
    if not runs:
        return {"evaluation_rows": [], "evaluation_titles": []}
    numbers, origins = metrics.latest(runs), metrics.origins_of(runs)
    keys = [key for key in COLUMNS if any(key in numbers[run.pk] for run in runs)]
    rows = []
    for run in runs:
        cells = [Cell(gettext(COLUMNS[key]), numbers[run.pk].get(key), key in SHARES) for key in keys]
        measured = metrics.provenance(run.config, "reward/mean", origins[run.pk])
        rows.append(EvaluationRow(run, cells, measured.words if measured else ""))
    return {"evaluation_rows": rows, "evaluation_titles": [gettext(COLUMNS[key]) for key in keys]}


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
