"""Views of the home page: what runs, what waits, what failed and why, what needs attention, and recent changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.access import may_make
from runs.experiments.home import changes, sections
from runs.experiments.home.changes import news
from runs.experiments.home.sections import COLUMNS, failures, seen_on_home
from runs.experiments.list import ExperimentForm
from runs.http import SignedIn, selected
from runs.metrics import cursors
from runs.models import Experiment

WINDOWS = {"1d": (1, _("24 hours")), "3d": (3, _("3 days")), "7d": (7, _("7 days"))}
WHOSE = {"all": _("Everybody's"), "mine": _("Mine")}


@require_safe
def home(request: SignedIn) -> HttpResponse:
    """Render the whole page; for a user who sees no experiment yet, the first steps."""
    context = {"may_make": may_make(request.user), "form": ExperimentForm()}
    if Experiment.objects.visible_to(request.user).exists():
        return TemplateResponse(request, "experiments/home.html", context | _standing(request))
    return TemplateResponse(request, "experiments/home_first.html", context)


@require_safe
def home_standing(request: SignedIn) -> HttpResponse:
    """Render only the current state of the runs, as a fragment that an open page fetches when runs change."""
    return TemplateResponse(request, "experiments/home.html#standing", _standing(request))


def _standing(request: SignedIn) -> dict[str, Any]:
    window, whose = selected(request, "since", WINDOWS, "1d"), selected(request, "whose", WHOSE, "all")
    windows = {name: (days, gettext(words)) for name, (days, words) in WINDOWS.items()}
    days, span = windows[window]
    return {
        "window": window, "windows": windows, "span": span, "whose": whose,
        "whose_choices": {name: gettext(words) for name, words in WHOSE.items()},
        **_runs(request, timezone.now() - timedelta(days=days), whose == "mine"),
    }  # fmt: skip


def _own(request: SignedIn) -> Experiment | None:
    """Return the user's newest experiment, the likely target of the next launch; None if there is none or they may not
    launch.
    """
    mine = Experiment.objects.visible_to(request.user).current().filter(owner=request.user)
    return mine.order_by("-pk").first() if may_make(request.user) else None


def _runs(request: SignedIn, since: datetime, mine: bool) -> dict[str, Any]:
    runs = seen_on_home(request.user, mine)
    going, waiting, wrong = sections.going(runs), sections.waiting(runs), sections.wrong(runs, since)
    (alarms, alarmed), unreachable = changes.alarms(runs, since), changes.unreachable()
    return {
        "since": since, "watch": cursors([*going.runs, *waiting.runs]), "columns": COLUMNS, "going": going,
        "waiting": waiting, "wrong": wrong, "failures": failures(wrong, request.user), "alarms": alarms,
        "unreachable": unreachable, "attention": alarmed + len(unreachable), "alarmed": alarmed,
        "news": news(request.user, runs, since, mine), "own": _own(request),
    }  # fmt: skip
