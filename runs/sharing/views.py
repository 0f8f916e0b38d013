"""Serve a shared link: one page and the data of its charts, for people without an account. Change nothing.

No cookie is read or set. The link shows what the person who shared it may see: see `runs.access.share_links`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from runs.access.share_links import LinkEnded, Scope, Share, UnknownLink, opened
from runs.compare.options import settings_of
from runs.compare.page import CHART_PX, TABLE_PX
from runs.http import FORMS, UnknownChoice, chart_response, must_be_one_of
from runs.metrics.reading import cursors
from runs.sharing.pages import PAGES

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, str, Rest], HttpResponse]
WIDTHS = {"csv": None, "table": TABLE_PX}


def for_whoever_has_the_link(view: Callable[[HttpRequest, str, Share], HttpResponse]) -> View[[]]:
    """Opens the link, or says that it has ended, and keeps the answer out of search engines and shared caches."""

    @login_not_required
    @require_safe
    @wraps(view)
    def answered(request: HttpRequest, text: str) -> HttpResponse:
        try:
            share = opened(text)
        except UnknownLink as error:
            raise Http404(str(error)) from None
        except LinkEnded:
            return _kept_apart(TemplateResponse(request, "sharing/ended.html", status=410))
        return _kept_apart(view(request, text, share))

    return answered


def _kept_apart(answer: HttpResponse) -> HttpResponse:
    answer["X-Robots-Tag"] = "noindex, nofollow"
    answer["Cache-Control"] = "private, no-cache"
    # The address is the key: it is told to no other site.
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@for_whoever_has_the_link
def shared(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """The whole page."""
    page = PAGES[share.scope](share)
    settings = settings_of(request, None if share.scope is Scope.RUN else page.runs)
    context = {
        **page.context(settings), "share": share, "shared": True, "settings": settings, "problems": settings.problems,
        "chart_url": reverse("shared-chart", args=[text]), "section_url": reverse("shared-section", args=[text]),
    }  # fmt: skip
    return TemplateResponse(request, page.template, context)


@for_whoever_has_the_link
def shared_chart(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """One chart of the page: fresh words and figure, its table, or every point as CSV. 304 where nothing is new."""
    page, form = PAGES[share.scope](share), request.GET.get("as", "words")
    if form not in FORMS:
        raise UnknownChoice(f"as must be one of {', '.join(FORMS)}, not {form!r}")
    etag = _etag(request, cursors(page.runs))
    answer = get_conditional_response(request, etag=etag)
    if answer is None:
        name = request.GET.get("name", "")
        chart = page.chart(name, settings_of(request), WIDTHS.get(form, CHART_PX))
        if chart is None:
            raise UnknownChoice(must_be_one_of("name", page.names, name))
        answer = chart_response(request, chart, f"shared {chart.slug}")
    answer["ETag"] = etag
    return answer


@for_whoever_has_the_link
def shared_section(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """The charts of one section of keys, for whoever unfolds it."""
    page, name = PAGES[share.scope](share), request.GET.get("section", "")
    context = page.section(name, settings_of(request))
    if context is None:
        raise UnknownChoice(must_be_one_of("section", page.sections, name))
    context |= {"chart_url": reverse("shared-chart", args=[text]), "shared": True}
    return TemplateResponse(request, "compare/charts.html", context)


def _etag(request: HttpRequest, newest: dict[str, int]) -> str:
    said = f"{get_language()} {request.get_full_path()} {sorted(newest.items())}"
    return f'"{sha256(said.encode()).hexdigest()[:32]}"'
