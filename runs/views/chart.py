"""A chart on its own: what an open page asks for when its points have changed, or its reader wants the numbers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import slugify

from runs.charts import Chart
from runs.views.parameters import selected

FORMS = ("words", "table", "csv")


def chart_response(request: HttpRequest, chart: Chart, name: str) -> HttpResponse:
    """Answer with what `as` selects: words (with the figure), table, or csv. Raise UnknownChoice for another `name`."""
    selected(request, "name", (chart.name,), chart.name)
    form = selected(request, "as", FORMS, "words")
    if form == "csv":
        headers = {"Content-Disposition": f'attachment; filename="{slugify(name)}.csv"'}
        return HttpResponse(chart.table.csv(), content_type="text/csv; charset=utf-8", headers=headers)
    return TemplateResponse(request, f"runs/chart.html#{form}", {"chart": chart})
