"""What is being judged, for the first page, which fetches it from here: runs know nothing of judging."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.access import may_vote
from judging.models import Tournament
from judging.views.tournaments import progress
from runs.views.parameters import SignedIn

SHOWN = 3


@require_safe
def judging_news(request: SignedIn) -> HttpResponse:
    """A panel of the newest tournaments; nothing at all where the person sees none."""
    seen = Tournament.objects.visible_to(request.user)
    newest = progress(seen.order_by("-pk")[:SHOWN])
    if not newest:
        return HttpResponse(status=204)
    context = {"newest": newest, "total": seen.count(), "may_vote": may_vote(request.user)}
    return TemplateResponse(request, "judging/news.html", context)
