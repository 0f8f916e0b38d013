"""Fragments that pages of runs fetch: the ratings of a run, and what is being judged now."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.access import may_vote
from judging.models import Tournament
from judging.tournaments import progress
from judging.viewer_integration.run_ratings import placed
from runs.http import SignedIn, visible_run

SHOWN = 3


@require_safe
def judging_news(request: SignedIn) -> HttpResponse:
    """A panel of the newest tournaments; nothing at all where the person sees none."""
    seen = Tournament.objects.visible_to(request.user)
    newest = progress(seen.order_by("-pk")[:SHOWN])
    if not newest:
        return HttpResponse(status=204)
    context = {"newest": newest, "total": seen.count(), "may_vote": may_vote(request.user)}
    return TemplateResponse(request, "judging/viewer_integration/news.html", context)


@require_safe
def run_ratings(request: SignedIn, uid: str) -> HttpResponse:
    """A panel; nothing at all where the run is in no tournament that the person may see."""
    found = placed(request.user, visible_run(request, uid))
    if not found:
        return HttpResponse(status=204)
    return TemplateResponse(request, "judging/viewer_integration/run_ratings.html", {"placed": found})
