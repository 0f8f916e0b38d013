"""What the command palette offers: pages, experiments, runs, and what others add, whose names hold every word that was
typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.models import Experiment, Run
from runs.models.experiment import Person
from runs.views.parameters import Row, SignedIn

OF_EACH = 8
WORDS_AT_MOST = 8
PAGES = {
    "home": _("Home"), "experiments": _("Experiments"), "compare": _("Compare runs"),
    "viewer": _("Answers side by side"), "import": _("Import runs"), "saved-views": _("Saved views"),
    "queue": _("Queue"), "costs": _("Costs and limits"), "services": _("Services"), "bin": _("Bin"),
    "settings-tokens": _("Settings: tokens"), "settings-secrets": _("Settings: secrets"),
    "settings-password": _("Settings: password"), "api-docs": _("API"),
}  # fmt: skip
FOR_ADMINS = {"settings-people": _("Settings: people"), "settings-clusters": _("Settings: clusters")}
FIRST_PAGES = 4
"""Pages that stand there before anything is typed; any word finds the others."""


@dataclass(frozen=True)
class Place:
    """Somewhere to go; `where` says what it belongs to."""

    kind: str
    title: str
    where: str
    address: str


Offer = Callable[[Person, Sequence[str]], Iterable[Place]]
OFFERS: list[Offer] = []


def offer(places: Offer) -> None:
    """Adds places of others, such as of judging, which is not known here. They ask who wants them, by which words."""
    OFFERS.append(places)


@require_safe
def palette(request: SignedIn) -> HttpResponse:
    """The places that match, the newest first; without words the newest of all."""
    words = request.GET.get("q", "")[:200].replace("\x00", "").split()[:WORDS_AT_MOST]
    experiments = matching(Experiment.objects.visible_to(request.user), words, "name")
    runs = matching(Run.objects.visible_to(request.user).select_related("experiment"), words, "name", "uid")
    named = PAGES | FOR_ADMINS if request.user.is_superuser else PAGES
    places = [
        *(pages_of(named, words) if words else pages_of(named, words)[:FIRST_PAGES]),
        *(Place(gettext("experiment"), e.name, e.question, e.get_absolute_url()) for e in experiments),
        *(Place(gettext("run"), r.name, r.experiment.name, r.get_absolute_url()) for r in runs),
        *(place for places in OFFERS for place in places(request.user, words)),
    ]
    return TemplateResponse(request, "runs/palette.html", {"places": places, "q": " ".join(words)})


def pages_of(named: dict[str, str], words: Sequence[str]) -> list[Place]:
    """Pages by the names of their addresses -> words for them: those whose words hold all that was typed."""
    titles = {name: gettext(title) for name, title in named.items()}
    return [Place(gettext("page"), title, "", reverse(name)) for name, title in titles.items() if _holds(title, words)]


def _holds(title: str, words: Sequence[str]) -> bool:
    return all(word.lower() in title.lower() for word in words)


def matching(rows: QuerySet[Row], words: Sequence[str], *fields: str) -> QuerySet[Row]:
    """The newest rows of which one of the fields holds each of the words."""
    for word in words:
        wanted = Q()
        for field in fields:
            wanted |= Q(**{f"{field}__icontains": word})
        rows = rows.filter(wanted)
    return rows.order_by("-pk")[:OF_EACH]
