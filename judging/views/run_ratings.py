"""Where a run stands on boards, for its own page, which fetches it from here: runs know nothing of judging."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.shown import placed
from runs.views.parameters import SignedIn
from runs.views.visible import visible_run


@require_safe
def run_ratings(request: SignedIn, uid: str) -> HttpResponse:
    """A panel; nothing at all where the run is in no tournament that the person may see."""
    found = placed(request.user, visible_run(request, uid))
    if not found:
        return HttpResponse(status=204)
    return TemplateResponse(request, "judging/run_ratings.html", {"placed": found})
