"""Comparison pages: curves over each other, final results against a baseline, and differences of configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs.charts import Mark, marks
from runs.charts.own import parse_own
from runs.compare.charts import CHART_PX, TABLE_PX, charts_for_names, comparison_groups
from runs.compare.environments import environments_context
from runs.compare.keys import key_names, key_sections
from runs.compare.options import ComparisonSettings, comparison_grouping, parse_settings
from runs.compare.page import examination_context, judge_context, page_context
from runs.compare.selection import Choice, chart_query, offered_runs, parse_choice, parse_whole_choice
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of
from runs.models import Run

CARRIED = ("x", "xscale", "y", "smooth", "center", "band", "key", "config", "group", "charts")


@require_safe
def compare(request: SignedIn) -> HttpResponse:
    """Show the whole page; without a selection, show runs to select from."""
    choice = parse_choice(request)
    settings = parse_settings(request, choice.runs)
    page = page_context(choice.runs, settings, request.user)
    context = {
        "grouping_choices": comparison_grouping(request, settings),
        **page, **environments_context(page["marks"], page["baseline_uid"]),
        **judge_context(choice.runs, request.user), **examination_context(choice.runs, request.user), "choice": choice,
        "problems": (*choice.problems, *settings.problems), "offered": offered_runs(request, choice.runs),
        "chosen_uids": {run.uid for run in choice.runs}, "kept": carried_parameters(request),
        "chart_query": chart_query(request, choice), "chart_url": reverse("compare-chart"),
        "section_url": reverse("compare-section"),
    }  # fmt: skip
    return TemplateResponse(request, "compare/compare.html", context)


@require_safe
def compare_chart(request: SignedIn) -> HttpResponse:
    """Return one chart: current summary and figure, its table, or every point as CSV."""
    runs = parse_whole_choice(request).runs
    return key_chart_response(request, runs, parse_settings(request, runs))


@require_safe
def compare_section(request: SignedIn) -> HttpResponse:
    """Return the charts of one section of keys when a reader unfolds it."""
    choice = parse_whole_choice(request)
    context = section_context(request, choice, parse_settings(request, choice.runs))
    return TemplateResponse(request, "compare/charts.html", {**context, "chart_url": reverse("compare-chart")})


def key_chart_response(request: HttpRequest, runs: Sequence[Run], settings: ComparisonSettings) -> HttpResponse:
    """Return the chart of the key `name` in the form `as`. Raise UnknownChoice for a key that none of the runs has."""
    widths = {"csv": None, "table": TABLE_PX}
    key, keys = request.GET.get("name", ""), key_names(runs)
    if key not in keys and parse_own(key) is None:
        raise UnknownChoice(must_be_one_of("name", keys, key))
    run_marks = marks(runs, comparison_groups(runs, settings))
    (chart,) = charts_for_names(run_marks, [key], settings, widths.get(request.GET.get("as", ""), CHART_PX))
    return chart_response(request, chart, f"comparison {chart.slug}")


def section_context(request: HttpRequest, choice: Choice, settings: ComparisonSettings) -> dict[str, Any]:
    """Return the charts of the section in the address, and its number of keys. Raise UnknownChoice if it is unknown."""
    sections = {section.name: section for section in key_sections(choice.runs)}
    name = request.GET.get("section", "")
    if name not in sections:
        raise UnknownChoice(must_be_one_of("section", list(sections), name))
    run_marks: list[Mark] = marks(choice.runs, comparison_groups(choice.runs, settings))
    charts = charts_for_names(run_marks, sections[name].first_keys, settings, CHART_PX)
    return {"charts": charts, "total": len(sections[name].keys)}


def carried_parameters(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the parameters that a form must carry, so that the view stays the same when other runs are selected."""
    return [(name, value) for name in CARRIED for value in request.GET.getlist(name) if value]
