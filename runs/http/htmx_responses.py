"""Responses beside whole pages: a chart alone, files of tables, and the address of a page with a new fragment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import parse_qs, urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import slugify

from runs.charts import Chart, Table, latex
from runs.http.parameters import SignedIn, require_choice

FILES = ("csv", "latex")
FORMS = ("words", "table", *FILES)


def page_address(request: SignedIn, names: Collection[str], params: Mapping[str, object]) -> str:
    """Return the address of a request from htmx, with the parameters of the page that sent it. The page's values of
    `names` are replaced by `params`."""
    before = parse_qs(urlsplit(request.htmx.current_url or "").query)
    others = {name: values[-1] for name, values in before.items() if name not in names}
    query = urlencode({**others, **params})
    return f"{request.path}{'?' if query else ''}{query}"


def chart_response(request: HttpRequest, chart: Chart, name: str) -> HttpResponse:
    """Return what `as` selects: words (with the figure), table, csv or latex.

    Raise UnknownChoice for another `name`.
    """
    require_choice(request, "name", (chart.name,), chart.name)
    form = require_choice(request, "as", FORMS, "words")
    if form in FILES:
        return file_response(chart.table, form, name, (chart.title,))
    return TemplateResponse(request, f"includes/chart.html#{form}", {"chart": chart})


def table_response(request: HttpRequest, table: Table, name: str, notes: Sequence[str] = ()) -> HttpResponse:
    """Return a table as the file that `as` selects: csv or latex. Raise UnknownChoice for another value.

    name: the file's name, without its ending. notes: lines of the comment in LaTeX, such as the query.
    """
    return file_response(table, require_choice(request, "as", FILES, FILES[0]), name, notes)


def file_response(table: Table, form: str, name: str, notes: Sequence[str] = ()) -> HttpResponse:
    """Return a table as a download, with a form of FILES."""
    is_csv = form == "csv"
    text = table.csv() if is_csv else latex(table, notes)
    media, ending = ("text/csv", "csv") if is_csv else ("application/x-tex", "tex")
    headers = {"Content-Disposition": f'attachment; filename="{slugify(name)}.{ending}"'}
    return HttpResponse(text, content_type=f"{media}; charset=utf-8", headers=headers)
