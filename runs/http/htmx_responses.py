"""Responses to htmx: a chart alone, and the address of a page whose fragment was swapped in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import slugify

from runs.charts import Chart
from runs.http.parameters import SignedIn, require_choice
from runs.models import Run

FORMS = ("words", "table", "csv")


def run_address(request: SignedIn, run: Run, names: Collection[str], params: Mapping[str, object]) -> str:
    """Return the run page's own address with the parameters `params` in place of those of `names`; other parameters
    stay as they are."""
    before = parse_qs(urlsplit(request.htmx.current_url or "").query)
    others = {name: values[-1] for name, values in before.items() if name not in names}
    query = urlencode({**others, **params})
    return f"{run.get_absolute_url()}{'?' if query else ''}{query}"


def chart_response(request: HttpRequest, chart: Chart, name: str) -> HttpResponse:
    """Return what `as` selects: words (with the figure), table, or csv. Raise UnknownChoice for another `name`."""
    require_choice(request, "name", (chart.name,), chart.name)
    form = require_choice(request, "as", FORMS, "words")
    if form == "csv":
        headers = {"Content-Disposition": f'attachment; filename="{slugify(name)}.csv"'}
        return HttpResponse(chart.table.csv(), content_type="text/csv; charset=utf-8", headers=headers)
    return TemplateResponse(request, f"includes/chart.html#{form}", {"chart": chart})
