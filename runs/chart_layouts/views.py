"""The address at which users change the layout of their charts."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from runs.chart_layouts.arrangement import PARAMETER, query_with, to_text
from runs.chart_layouts.cards import Card, parse_cards
from runs.chart_layouts.commands import append_card, reset_layout, save_layout, with_card
from runs.chart_layouts.forms import AddChartForm, LayoutForm, PageForm
from runs.charts import Chart, Table
from runs.http import SignedIn, must_be_one_of

ACTIONS = ("save", "add", "reset")


@require_POST
def chart_layout(request: SignedIn) -> HttpResponse:
    """Change the user's own layout of a page: save it whole, add a chart, or reset it, as the field `do` says.

    Redirect to the page that the field `next` names. Without `next`, as the page's script posts, the response is empty,
    or 400 with a sentence for each problem.
    """
    do = request.POST.get("do", "save")
    if do == "save":
        return _save(request)
    if do == "add":
        return _add(request)
    if do == "reset":
        return _reset(request)
    return _problems(request, [must_be_one_of("do", ACTIONS, do)])


def _save(request: SignedIn) -> HttpResponse:
    form = LayoutForm(request.POST, request.user)
    if not form.is_valid():
        return _problems(request, form.problems)
    values = form.cleaned_data
    save_layout(request.user, values["page"], values["experiment"], values["cards"])
    return _done(request, gettext("Saved these charts as yours."))


def _reset(request: SignedIn) -> HttpResponse:
    form = PageForm(request.POST, request.user)
    if not form.is_valid():
        return _problems(request, form.problems)
    reset_layout(request.user, form.cleaned_data["page"], form.cleaned_data["experiment"])
    return _done(request, gettext("Reset the charts to their default order and size."))


def _done(request: SignedIn, message: str) -> HttpResponse:
    """Return to the page, whose charts are now the user's own."""
    if not request.POST.get("next"):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    messages.success(request, message)
    path, params = _next_page(request)
    params.pop(PARAMETER, None)
    return redirect(_address(path, params))


def _add(request: SignedIn) -> HttpResponse:
    """Add a chart: to the layout in the address of the page if there is one, else to the user's own."""
    form = AddChartForm(request.POST, request.user)
    if not form.is_valid():
        return _problems(request, form.problems)
    card: Card = form.cleaned_data["card"]
    path, params = _next_page(request)
    if PARAMETER in params:
        cards, problems = with_card(parse_cards(params.getlist(PARAMETER))[0], card)
        params = query_with(params, cards)
    else:
        problems = append_card(request.user, form.cleaned_data["page"], form.cleaned_data["experiment"], card)
    if problems:
        return _problems(request, problems)
    if not request.POST.get("next"):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    messages.success(request, gettext("Added the chart %(title)s.") % {"title": card.own.heading if card.own else ""})
    return redirect(_address(path, params, f"chart-{_slug_of(card)}"))


def _problems(request: SignedIn, problems: list[str] | tuple[str, ...]) -> HttpResponse:
    """Report the problems: as text to a script, as messages on the page that a form came from."""
    if not request.POST.get("next"):
        return HttpResponse("\n".join(problems), "text/plain; charset=utf-8", HTTPStatus.BAD_REQUEST)
    for problem in problems:
        messages.error(request, problem)
    return redirect(_address(*_next_page(request)))


def _next_page(request: SignedIn) -> tuple[str, QueryDict]:
    """Return path and parameters of the page that `next` names, if it is one of this site; else those of home."""
    next_url = request.POST.get("next", "")
    is_safe_url = url_has_allowed_host_and_scheme(next_url, {request.get_host()}, require_https=request.is_secure())
    if not (is_safe_url and next_url.startswith("/")):
        return reverse("home"), QueryDict(mutable=True)
    parts = urlsplit(next_url)
    return parts.path, QueryDict(parts.query, mutable=True)


def _address(path: str, params: QueryDict, anchor: str = "") -> str:
    return urlunsplit(("", "", path, to_text(params), anchor))


def _slug_of(card: Card) -> str:
    return Chart(card.name, "", "", {}, Table((), ())).slug
