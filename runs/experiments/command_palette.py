"""View of the command palette: pages, experiments, runs and registered entries whose names contain every typed word."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs.http import PaletteEntry, SignedIn, find_entries, find_pages, find_rows
from runs.models import Experiment, Run

MAX_WORDS = 8


@require_safe
def palette(request: SignedIn) -> HttpResponse:
    """Render the entries that match `q`, the newest first; without `q`, common pages and the newest rows."""
    words = request.GET.get("q", "")[:200].replace("\x00", "").split()[:MAX_WORDS]
    experiments = find_rows(Experiment.objects.visible_to(request.user), words, "name")
    runs = find_rows(Run.objects.visible_to(request.user).select_related("experiment"), words, "name", "uid")
    entries = [
        *find_pages(request.user, words),
        *(PaletteEntry(gettext("experiment"), e.name, e.question, e.get_absolute_url()) for e in experiments),
        *(PaletteEntry(gettext("run"), r.name, r.experiment.name, r.get_absolute_url()) for r in runs),
        *find_entries(request.user, words),
    ]
    return TemplateResponse(request, "experiments/palette.html", {"results": entries, "q": " ".join(words)})
