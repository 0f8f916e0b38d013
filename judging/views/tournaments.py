"""All tournaments: what each asks and how far it is; and the bin."""

from __future__ import annotations

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.access import may_hold, may_look_after
from judging.models import Comparison, Tournament
from judging.tournaments import DAYS_IN_BIN
from runs.views.parameters import SignedIn, choice, page_of

TOURNAMENTS_A_PAGE = 20
SHELVES = ("current", "bin")


@require_safe
def tournaments(request: SignedIn) -> HttpResponse:
    """The list, or what of it lies in the bin and may be restored."""
    shelf = choice(request, "shelf", SHELVES, "current")
    found = with_progress(_listed(request, shelf).select_related("owner").prefetch_related("rubrics__criterion"))
    page = page_of(request, found.order_by("-created_at", "-pk"), TOURNAMENTS_A_PAGE)
    entries = [(one, may_look_after(request.user, one)) for one in page]
    context = {
        "page": page, "entries": entries, "shelf": shelf, "may_hold": may_hold(request.user), "days": DAYS_IN_BIN,
    }  # fmt: skip
    return TemplateResponse(request, "judging/tournaments.html", context)


def _listed(request: SignedIn, shelf: str) -> QuerySet[Tournament]:
    if shelf == "current":
        return Tournament.objects.visible_to(request.user)
    return Tournament.objects.permitted_to(request.user).filter(deleted_at__isnull=False)


def with_progress(found: QuerySet[Tournament]) -> QuerySet[Tournament]:
    """Adds `pairs`, `judged` (pairs that enough people have judged), and `contestants_count`.

    Each by a question of its own: joined, they would multiply.
    """
    pairs = Comparison.objects.filter(tournament=OuterRef("pk"), gold_pair=None)
    done = Count("turns", filter=Q(turns__ended_at__isnull=False, turns__is_passed=False))
    judged = pairs.annotate(done=done).filter(done__gte=F("tournament__overlap"))
    return found.annotate(
        contestants_count=Count("contestants", distinct=True),
        pairs=_count(pairs),
        judged=_count(judged),
    )


def _count(rows: QuerySet[Comparison]) -> Coalesce:
    counted = rows.order_by().values("tournament").annotate(n=Count("pk", distinct=True)).values("n")
    return Coalesce(Subquery(counted), 0)
