"""Curves of a run: their sections and charts, and the tab that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from django.http import HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs import launching, metrics
from runs.chart_layouts import Layout, PlacedChart, arrange, layout_of
from runs.charts import Chart, Group, Spec, draw_charts, draw_names
from runs.charts.own import OwnChart, parse_own
from runs.http import ChartControls, SignedIn, UnknownChoice, chart_controls, chart_response, visible_run
from runs.metrics.metric_charts import BY_TIME
from runs.models import ChartLayout, Run
from runs.responses.outcomes import read_outcomes
from runs.run_page.charts.population import population
from runs.run_page.charts.sections import MACHINE, Plan, Section, plans
from runs.run_page.reward_and_gold.charts import CHARTS as OUTCOME_CHARTS
from runs.run_page.reward_and_gold.charts import outcome_chart
from runs.run_page.tabs import tab_fragment, tab_page

CHART_PX = 600
INITIAL_CHARTS = 16
FIRST_CHARTS = 4
ArrangedSection: TypeAlias = tuple[Section, list[PlacedChart], list[PlacedChart]]
"""A section, its charts that vary, and those of which all values were 0."""


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
    charts = _charts(run, specs, controls, px) or [spec.empty(controls.options(px).x) for spec in specs]
    return charts[0] if charts else None


def curve_names(keys: list[str]) -> list[str]:
    """Return the names of all charts of these keys."""
    return [spec.name for plan in plans(keys) for spec in plan.specs]


def _plans(run: Run, keys: list[str]) -> list[Plan]:
    """Return the sections of these keys, in which every held-out line states how it was measured, and the section of
    the machine states the share of a GPU that the run has."""
    provenances = metrics.provenances([run], keys, metrics.origins_of([run]))
    planned = plans(keys, {key: provenance for (_run, key), provenance in provenances.items()})
    if not launching.resources_of(run.config).shares_gpu:
        return planned
    sharing = launching.resources_of(run.config, run.attempts.order_by("-n").first()).sharing
    note = " ".join([sharing, gettext("Charts of the GPU count all programs on it.")]) if sharing else ""
    return [replace(plan, help=f"{plan.help} {note}".strip()) if plan.slug == MACHINE else plan for plan in planned]


def _charts(run: Run, specs: list[Spec], controls: ChartControls, px: int | None) -> list[Chart]:
    """Return the charts of those specs that have points. Those with an axis and a width in common are read together.

    Those that are always drawn by time are drawn by step if none of their records has a time.
    """
    options, groups = controls.options(px), dict[tuple[str, int | None], list[Spec]]()
    for spec in specs:
        # Phases are added up, and lines smoothed, over all points.
        width = None if spec.draw or options.smoothing else px
        groups.setdefault((spec.x or options.x, width), []).append(spec)
    charts: list[Chart] = []
    untimed: list[Spec] = []
    for (x, width), group in groups.items():
        keys = [key for spec in group for key in (*spec.keys, *spec.also)]
        zoom = options.zoom if width and x == options.x else None
        curves = {curve.key: curve for curve in metrics.read([run], keys, x=x, px=width, zoom=zoom)}
        charts += draw_charts(run, group, curves, replace(options, x=x, zoom=zoom))
        is_by_time = x == BY_TIME and options.x != BY_TIME
        untimed += [replace(spec, x="step") for spec in group if is_by_time and curves.keys().isdisjoint(spec.keys)]
    return [*charts, *_charts(run, untimed, controls, px)] if untimed else charts


def named_charts(run: Run, keys: list[str], selected: Sequence[str], controls: ChartControls) -> list[Chart]:
    """Return the charts of the selected keys, in their order; the first charts of the run if it has none of them."""
    specs = [spec for plan in _plans(run, keys) for spec in plan.specs]
    named = [next(spec for spec in specs if key in spec.keys) for key in selected]
    return _charts(run, list(dict.fromkeys(named)) or specs[:FIRST_CHARTS], controls, CHART_PX)


@require_safe
def run_curves(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab. htmx gets all curves alone, after a key without a chart appeared."""
    run = visible_run(request, uid)
    context = _curves_context(request, run)
    if request.htmx:
        return tab_fragment(request, run, "run_page/curves.html", context)
    return tab_page(request, run, "curves", context)


@require_safe
def run_chart(request: SignedIn, uid: str) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    run = visible_run(request, uid)
    name = request.GET.get("name", "")
    px = None if request.GET.get("as") == "csv" else CHART_PX
    if name == "population":
        chart = population(run)
    elif name in OUTCOME_CHARTS:
        chart = outcome_chart(run, read_outcomes(run), name)
    else:
        chart = _chart(request, run, name, px)
    return chart_response(request, chart, f"{run.name} {chart.slug}")


def own_run_chart(run: Run, own: OwnChart, controls: ChartControls, px: int | None) -> Chart:
    """Return a chart that a user defined, of one run."""
    options, line = controls.options(px), Group(run.method, run.name, 0, (run,))
    curves = metrics.read([run], own.all_keys, x=controls.x)
    (chart,) = draw_names([own.name], [line], [run.pk], curves, options, metrics.origins_of([run]))
    return chart


def _curves_context(request: SignedIn, run: Run) -> dict[str, Any]:
    keys, controls = metrics.keys(run), chart_controls(request)
    chart_layout = layout_of(request, ChartLayout.Page.RUN)
    own = [own_run_chart(run, chart, controls, CHART_PX) for chart in chart_layout.own_charts]
    sections = curve_sections(run, keys, controls)
    return {
        "sections": arrange_sections(run, sections, chart_layout),
        "own_charts": arrange(own, chart_layout), "chart_layout": chart_layout, "chart_keys": keys,
        "known_keys": keys, "controls": controls,
    }  # fmt: skip


def arrange_sections(run: Run, sections: Iterable[Section], layout: Layout) -> list[ArrangedSection]:
    """Return each section with its charts in the order of the layout, and apart those of which all values were 0, if
    the run has ended. One query."""
    zero_keys = set() if run.is_open else _zero_keys(run)
    return [(section, *_split(arrange(section.charts, layout), zero_keys)) for section in sections]


def _zero_keys(run: Run) -> set[str]:
    """Return the keys of which all values were 0. A run that is open may still record others."""
    return set(run.series.filter(min_value=0, max_value=0).values_list("key", flat=True))


def _split(placed: Iterable[PlacedChart], zero_keys: set[str]) -> tuple[list[PlacedChart], list[PlacedChart]]:
    """Return the charts that vary, and those of which all values were 0."""
    charts = list(placed)
    zeros = [chart for chart in charts if zero_keys.issuperset(chart.chart.keys)]
    return [chart for chart in charts if chart not in zeros], zeros


def _chart(request: SignedIn, run: Run, name: str, px: int | None) -> Chart:
    keys, controls = metrics.keys(run), chart_controls(request)
    if own := parse_own(name):
        return own_run_chart(run, own, controls, px)
    chart = curve_chart(run, keys, name, controls, px)
    if chart is None:
        names = ", ".join(["population", *OUTCOME_CHARTS, *curve_names(keys)])
        raise UnknownChoice(f"name must be one of {names}, not {name!r}")
    return chart
