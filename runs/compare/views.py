"""Runs over each other: their curves, where they ended against a baseline, and where their configs differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs.charts import Mark, marks
from runs.compare.environments import compared
from runs.compare.keys import key_names, key_sections
from runs.compare.options import Settings, settings_of
from runs.compare.page import CHART_PX, TABLE_PX, charts_of, page_context
from runs.compare.selection import Choice, choice_of, offered, query_of, whole_choice_of
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of
from runs.models import Run


@require_safe
def compare(request: SignedIn) -> HttpResponse:
    """The whole page; where nothing is chosen yet, runs to choose from."""
    choice = choice_of(request)
    settings = settings_of(request, choice.runs)
    shown = page_context(choice.runs, settings, request.user)
    context = {
        **shown, **compared(shown["marks"], settings.baseline), "choice": choice,
        "problems": (*choice.problems, *settings.problems), "offered": offered(request, choice.runs),
        "chosen_uids": {run.uid for run in choice.runs}, "kept": kept(request),
        "chart_query": query_of(request, choice), "chart_url": reverse("compare-chart"),
        "section_url": reverse("compare-section"),
    }  # fmt: skip
    return TemplateResponse(request, "compare/compare.html", context)


@require_safe
def compare_chart(request: SignedIn) -> HttpResponse:
    """One chart: fresh words and figure, its table, or every point as CSV."""
    runs = whole_choice_of(request).runs
    return chart_answer(request, runs, settings_of(request, runs))


@require_safe
def compare_section(request: SignedIn) -> HttpResponse:
    """The charts of one section of keys, for whoever unfolds it."""
    choice = whole_choice_of(request)
    context = section_context(request, choice, settings_of(request, choice.runs))
    return TemplateResponse(request, "compare/charts.html", {**context, "chart_url": reverse("compare-chart")})


def chart_answer(request: HttpRequest, runs: Sequence[Run], settings: Settings) -> HttpResponse:
    """The chart of the key that `name` names, as `as` says. Raise UnknownChoice for a key that none of the runs has."""
    widths = {"csv": None, "table": TABLE_PX}
    key, keys = request.GET.get("name", ""), key_names(runs)
    if key not in keys:
        raise UnknownChoice(must_be_one_of("name", keys, key))
    (chart,) = charts_of(marks(runs), [key], settings, widths.get(request.GET.get("as", ""), CHART_PX))
    return chart_response(request, chart, f"comparison {chart.slug}")


def section_context(request: HttpRequest, choice: Choice, settings: Settings) -> dict[str, Any]:
    """The charts of the section that the address names, and how many keys it has. 404 where there is none such."""
    sections = {section.name: section for section in key_sections(choice.runs)}
    name = request.GET.get("section", "")
    if name not in sections:
        raise UnknownChoice(must_be_one_of("section", list(sections), name))
    told: list[Mark] = marks(choice.runs)
    charts = charts_of(told, sections[name].shown, settings, CHART_PX)
    return {"charts": charts, "total": len(sections[name].keys)}


def kept(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the parameters that a form must carry, so that choosing other runs keeps the view as it is."""
    return [(name, request.GET[name]) for name in ("x", "y", "smooth", "key", "config") if request.GET.get(name)]
