"""Serve a shared link: one page and the data of its charts, for readers without an account. Change nothing.

No cookie is read or set. The link shows what the user who shared it may see: see `runs.access.share_links`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from hashlib import sha256
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language, gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from runs.access import (
    LIFETIMES,
    CannotShare,
    LinkEnded,
    Scope,
    Share,
    UnknownLink,
    link_text,
    may_share,
    open_link,
    revoke_all_links,
)
from runs.chart_layouts import PARAMETER, shared_layout, to_text, with_layout
from runs.compare import (
    CHART_PX,
    TABLE_PX,
    ComparisonSettings,
    comparison_grouping,
    parse_choice,
    parse_settings,
    shared_group_keys,
)
from runs.http import (
    FORMS,
    SignedIn,
    UnknownChoice,
    chart_response,
    must_be_one_of,
    named_experiment,
    require_choice,
    visible_run,
    warn,
)
from runs.metrics import cursors
from runs.models import Experiment, Run
from runs.sharing.pages import PAGES

CHOICE_PARAMS = ("page", "run", "experiment", "q", "show")
CHART_PARAMS = ("x", "xscale", "y", "smooth", "center", "band", "from", "to", "hide", PARAMETER)
"""Parameters of the pages of runs and experiments that shared pages have too; an experiment's page also has `group`."""


@dataclass(frozen=True)
class Page:
    """A page to share: its targets, its description, and its address. is_private: it is visible only to its owner.
    experiment: only of an experiment's page."""

    scope: Scope
    targets: tuple[str | int, ...]
    words: str
    address: str
    is_private: bool
    experiment: Experiment | None = None


@dataclass(frozen=True)
class Link:
    """A link that was created by this request."""

    address: str
    ends_at: datetime


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: SignedIn) -> HttpResponse:
    """Show the form; a POST creates a link, or revokes all links of the user."""
    page = _page(request)
    if request.method == "POST" and "take_back" in request.POST:
        revoke_all_links(request.user)
        messages.success(request, gettext("Revoked all your links."))
        return redirect(request.get_full_path())
    context = {
        "page": page, "lifetimes": {name: gettext(words) for name, (words, _) in LIFETIMES.items()},
        "may_share": may_share(request.user),
    }  # fmt: skip
    if request.method != "POST":
        return TemplateResponse(request, "sharing/share.html", context)
    try:
        link = _create_link(request, page)
    except CannotShare as error:
        return TemplateResponse(request, "sharing/share.html", {**context, "problem": str(error)}, status=400)
    return TemplateResponse(request, "sharing/share.html", {**context, "link": link})


def _create_link(request: SignedIn, page: Page) -> Link:
    lifetime = request.POST.get("lifetime", "")
    text = link_text(request.user, page.scope, page.targets, lifetime)
    params = with_layout(_settings(request, page), request.user, page.scope, page.experiment)
    address = f"{reverse('shared', args=[text])}?{to_text(params)}"
    return Link(request.build_absolute_uri(address), timezone.now() + LIFETIMES[lifetime][1])


def _settings(request: SignedIn, page: Page) -> QueryDict:
    """Return the parameters of the page's address that say how the shared page shows its charts."""
    params = QueryDict(mutable=True)
    for name, values in request.GET.lists():
        if name not in CHOICE_PARAMS if page.scope is Scope.COMPARE else name in CHART_PARAMS:
            params.setlist(name, values)
    if page.scope is Scope.EXPERIMENT and (keys := shared_group_keys(request.GET.getlist("group"))):
        params.setlist("group", keys)
    return params


def _page(request: SignedIn) -> Page:
    """Return the page to share. Raise Http404 if it is unknown or not visible to the user."""
    name = request.GET.get("page", "")
    if name == Scope.RUN:
        run = visible_run(request, request.GET.get("run", ""))
        words = gettext("the run %(name)s") % {"name": run.name}
        return Page(Scope.RUN, (run.uid,), words, run.get_absolute_url(), run.experiment.is_private)
    if name == Scope.EXPERIMENT:
        experiment = named_experiment(request, request.GET.get("experiment", ""))
        if experiment is None:
            raise UnknownChoice(gettext("experiment must be the number of an experiment that you may see."))
        words = gettext("the experiment %(name)s") % {"name": experiment.name}
        address = experiment.get_absolute_url()
        return Page(Scope.EXPERIMENT, (experiment.pk,), words, address, experiment.is_private, experiment)
    if name != Scope.COMPARE:
        raise UnknownChoice(f"page must be one of {', '.join(Scope)}, not {name!r}")
    choice = parse_choice(request)
    for problem in choice.problems:
        warn(request, problem)
    runs = choice.runs
    # The link carries this parameter, so it must be valid.
    require_choice(request, "baseline", [run.uid for run in runs], "")
    back = request.GET.copy()
    back.pop("page")
    n = len(runs)
    words = ngettext("a comparison of %(n)s run", "a comparison of %(n)s runs", n) % {"n": n}
    is_private = any(run.experiment.is_private for run in runs)
    return Page(
        Scope.COMPARE, tuple(run.uid for run in runs), words, f"{reverse('compare')}?{back.urlencode()}", is_private
    )


Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, str, Rest], HttpResponse]
WIDTHS = {"csv": None, "table": TABLE_PX}


def share_view(view: Callable[[HttpRequest, str, Share], HttpResponse]) -> View[[]]:
    """Decorate a view of a shared page: open the link, or report that it has expired, and keep the response out of
    search engines and shared caches."""

    @login_not_required
    @require_safe
    @wraps(view)
    def wrapper(request: HttpRequest, text: str) -> HttpResponse:
        try:
            share = open_link(text)
        except UnknownLink as error:
            raise Http404(str(error)) from None
        except LinkEnded:
            return _add_share_headers(TemplateResponse(request, "sharing/ended.html", status=410))
        return _add_share_headers(view(request, text, share))

    return wrapper


def _add_share_headers(response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Cache-Control"] = "private, no-cache"
    # The address is the key, so it is sent to no other site.
    response["Referrer-Policy"] = "no-referrer"
    return response


@share_view
def shared_page(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """Render the whole page."""
    page = PAGES[share.scope](share)
    settings = _parse_settings(request, share, None if share.scope is Scope.RUN else page.runs)
    context = {
        **page.context(settings), "share": share, "shared": True, "settings": settings, "problems": settings.problems,
        "chart_url": reverse("shared-chart", args=[text]), "section_url": reverse("shared-section", args=[text]),
        "grouping_choices": None if share.scope is Scope.RUN else comparison_grouping(request, settings),
    }  # fmt: skip
    return TemplateResponse(request, page.template, context)


def _parse_settings(request: HttpRequest, share: Share, runs: list[Run] | None) -> ComparisonSettings:
    """Return the settings of a shared page, with the layout of its charts that the link holds."""
    return replace(parse_settings(request, runs), layout=shared_layout(request, share.scope))


@share_view
def shared_chart(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """Return one chart of the page: new text and figure, its table, or every point as CSV; 304 if nothing has
    changed."""
    page, form = PAGES[share.scope](share), request.GET.get("as", "words")
    if form not in FORMS:
        raise UnknownChoice(f"as must be one of {', '.join(FORMS)}, not {form!r}")
    etag = _etag(request, cursors(page.runs))
    response = get_conditional_response(request, etag=etag)
    if response is None:
        name = request.GET.get("name", "")
        chart = page.chart(name, parse_settings(request, page.runs), WIDTHS.get(form, CHART_PX))
        if chart is None:
            raise UnknownChoice(must_be_one_of("name", page.names, name))
        response = chart_response(request, chart, f"shared {chart.slug}")
    response["ETag"] = etag
    return response


@share_view
def shared_section(request: HttpRequest, text: str, share: Share) -> HttpResponse:
    """Render the charts of one section of keys, when the reader unfolds it."""
    page, name = PAGES[share.scope](share), request.GET.get("section", "")
    context = page.section(name, parse_settings(request, page.runs))
    if context is None:
        raise UnknownChoice(must_be_one_of("section", page.sections, name))
    context |= {"chart_url": reverse("shared-chart", args=[text]), "shared": True}
    return TemplateResponse(request, "compare/charts.html", context)


def _etag(request: HttpRequest, newest: dict[str, int]) -> str:
    key = f"{get_language()} {request.get_full_path()} {sorted(newest.items())}"
    return f'"{sha256(key.encode()).hexdigest()[:32]}"'
