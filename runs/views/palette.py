"""What the command palette offers: pages, experiments and runs whose names hold every word that was typed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.models import Experiment, Run
from runs.views.parameters import Row, SignedIn

OF_EACH = 8
WORDS_AT_MOST = 8
PAGES = {
    "home": _("Home"), "experiments": _("Experiments"), "compare": _("Compare runs"),
    "viewer": _("Answers side by side"), "services": _("Services"),
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Somewhere to go; `where` says what it belongs to."""

    kind: str
    title: str
    where: str
    address: str


@require_safe
def palette(request: SignedIn) -> HttpResponse:
    """The places that match, the newest first; without words the newest of all."""
    words = request.GET.get("q", "")[:200].replace("\x00", "").split()[:WORDS_AT_MOST]
    experiments = _matching(Experiment.objects.visible_to(request.user), words, "name")
    runs = _matching(Run.objects.visible_to(request.user).select_related("experiment"), words, "name", "uid")
    pages = [(name, gettext(title)) for name, title in PAGES.items()]
    places = [
        *(Place(gettext("page"), title, "", reverse(name)) for name, title in pages if _holds(title, words)),
        *(Place(gettext("experiment"), e.name, e.question, e.get_absolute_url()) for e in experiments),
        *(Place(gettext("run"), r.name, r.experiment.name, r.get_absolute_url()) for r in runs),
    ]
    return TemplateResponse(request, "runs/palette.html", {"places": places, "q": " ".join(words)})


def _holds(title: str, words: list[str]) -> bool:
    return all(word.lower() in title.lower() for word in words)


def _matching(rows: QuerySet[Row], words: list[str], *fields: str) -> QuerySet[Row]:
    """The newest rows of which one of the fields holds each of the words."""
    for word in words:
        wanted = Q()
        for field in fields:
            wanted |= Q(**{f"{field}__icontains": word})
        rows = rows.filter(wanted)
    return rows.order_by("-pk")[:OF_EACH]
