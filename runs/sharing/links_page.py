"""Makes links to a page for people outside, and takes them back. The address says which page, as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from runs.access.share_links import (
    LIFETIMES,
    CannotShare,
    Scope,
    link_text,
    may_share,
    take_back_all,
)
from runs.compare.selection import choice_of
from runs.http import SignedIn, UnknownChoice, named_experiment, selected, visible_run, warn

ABOUT_THE_CHOICE = ("page", "run", "experiment", "q", "show")


@dataclass(frozen=True)
class Page:
    """A page to share: what it is of, in words, and where it stands. is_private: it stays with its owner."""

    scope: Scope
    what: tuple[str | int, ...]
    words: str
    address: str
    is_private: bool


@dataclass(frozen=True)
class Link:
    """A link that was made just now."""

    address: str
    ends_at: datetime


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: SignedIn) -> HttpResponse:
    """The form, what it made, or everything taken back."""
    page = _page(request)
    if request.method == "POST" and "take_back" in request.POST:
        take_back_all(request.user)
        messages.success(request, gettext("All links that you had made have ended."))
        return redirect(request.get_full_path())
    context = {
        "page": page, "lifetimes": {name: gettext(words) for name, (words, _) in LIFETIMES.items()},
        "may_share": may_share(request.user),
    }  # fmt: skip
    if request.method != "POST":
        return TemplateResponse(request, "sharing/share.html", context)
    try:
        link = _link(request, page)
    except CannotShare as error:
        return TemplateResponse(request, "sharing/share.html", {**context, "problem": str(error)}, status=400)
    return TemplateResponse(request, "sharing/share.html", {**context, "link": link})


def _link(request: SignedIn, page: Page) -> Link:
    lifetime = request.POST.get("lifetime", "")
    text = link_text(request.user, page.scope, page.what, lifetime)
    settings = [(name, value) for name, value in request.GET.items() if name not in ABOUT_THE_CHOICE]
    address = reverse("shared", args=[text]) + (f"?{urlencode(settings)}" if settings else "")
    return Link(request.build_absolute_uri(address), timezone.now() + LIFETIMES[lifetime][1])


def _page(request: SignedIn) -> Page:
    """Return the page that is to be shared, or answer 404 if it is unknown or the person may not see it."""
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
        return Page(Scope.EXPERIMENT, (experiment.pk,), words, experiment.get_absolute_url(), experiment.is_private)
    if name != Scope.COMPARE:
        raise UnknownChoice(f"page must be one of {', '.join(Scope)}, not {name!r}")
    choice = choice_of(request)
    for problem in choice.problems:
        warn(request, problem)
    runs = choice.runs
    # The link will carry it.
    selected(request, "baseline", [run.uid for run in runs], "")
    back = request.GET.copy()
    back.pop("page")
    n = len(runs)
    words = ngettext("a comparison of %(n)s run", "a comparison of %(n)s runs", n) % {"n": n}
    is_private = any(run.experiment.is_private for run in runs)
    return Page(
        Scope.COMPARE, tuple(run.uid for run in runs), words, f"{reverse('compare')}?{back.urlencode()}", is_private
    )
