"""What the command palette offers: pages, experiments, runs, and what others add, whose names hold every word that was
typed."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.http import OFFERS, PaletteEntry, SignedIn, matching, pages_of
from runs.models import Experiment, Run

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


@require_safe
def palette(request: SignedIn) -> HttpResponse:
    """The places that match, the newest first; without words the newest of all."""
    words = request.GET.get("q", "")[:200].replace("\x00", "").split()[:WORDS_AT_MOST]
    experiments = matching(Experiment.objects.visible_to(request.user), words, "name")
    runs = matching(Run.objects.visible_to(request.user).select_related("experiment"), words, "name", "uid")
    named = PAGES | FOR_ADMINS if request.user.is_superuser else PAGES
    places = [
        *(pages_of(named, words) if words else pages_of(named, words)[:FIRST_PAGES]),
        *(PaletteEntry(gettext("experiment"), e.name, e.question, e.get_absolute_url()) for e in experiments),
        *(PaletteEntry(gettext("run"), r.name, r.experiment.name, r.get_absolute_url()) for r in runs),
        *(place for places in OFFERS for place in places(request.user, words)),
    ]
    return TemplateResponse(request, "experiments/palette.html", {"places": places, "q": " ".join(words)})
