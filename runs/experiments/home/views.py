"""Views of the home page: running, waiting and failed runs with reasons, results, alarms, notes and recent changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_make, may_manage_clusters
from runs.experiments.home import changes, sections
from runs.experiments.home.changes import news
from runs.experiments.home.first_start import FIRST_PRESET
from runs.experiments.home.notes import mark_as_read, undo_mark, unread_notes
from runs.experiments.home.results import results
from runs.experiments.home.sections import COLUMNS, failures, home_runs
from runs.experiments.list import ExperimentForm
from runs.http import SignedIn, require_choice
from runs.metrics import cursors
from runs.models import Experiment

WINDOWS = {"1d": (1, _("24 hours")), "3d": (3, _("3 days")), "7d": (7, _("7 days"))}
OWNERS = {"all": _("All"), "mine": _("Mine")}


@require_safe
def home(request: SignedIn) -> HttpResponse:
    """Render the whole page; for a user who sees no experiment yet, the first steps."""
    context: dict[str, Any] = {"may_make": may_make(request.user), "form": ExperimentForm()}
    if Experiment.objects.visible_to(request.user).exists():
        return TemplateResponse(request, "experiments/home.html", context | _status_context(request))
    context |= {"may_manage_clusters": may_manage_clusters(request.user), "first_preset": FIRST_PRESET}
    return TemplateResponse(request, "experiments/home_first.html", context)


@require_safe
def home_status(request: SignedIn) -> HttpResponse:
    """Render only the current state of the runs, as a fragment that an open page fetches when runs change."""
    return TemplateResponse(request, "experiments/home.html#standing", _status_context(request))


@require_POST
def home_notes(request: SignedIn) -> HttpResponse:
    """Mark notes as read up to the time `until`, or undo that, and redirect to the home page in the same state."""
    until = _parse_time(request.POST.get("until", ""))
    if until is None:
        messages.error(request, gettext("until must be a time such as 2026-01-31T12:00:00+00:00."))
    elif "undo" in request.POST:
        undo_mark(request.user, until)
    else:
        mark_as_read(request.user, until)
    query = request.GET.urlencode()
    return redirect(f"{reverse('home')}{'?' * bool(query)}{query}#notes")


def _parse_time(text: str) -> datetime | None:
    """Return a time in UTC, or None if the text is not a time with a time zone."""
    try:
        time = parse_datetime(text)
        return time.astimezone(UTC) if time is not None and timezone.is_aware(time) else None
    except (ValueError, OverflowError):
        return None


def _status_context(request: SignedIn) -> dict[str, Any]:
    window, owner = require_choice(request, "since", WINDOWS, "1d"), require_choice(request, "whose", OWNERS, "all")
    windows = {name: (days, gettext(words)) for name, (days, words) in WINDOWS.items()}
    days, span = windows[window]
    return {
        "window": window, "windows": windows, "span": span, "whose": owner,
        "whose_choices": {name: gettext(words) for name, words in OWNERS.items()},
        **_runs(request, timezone.now() - timedelta(days=days), owner == "mine"),
    }  # fmt: skip


def _own_experiment(request: SignedIn) -> Experiment | None:
    """Return the user's newest experiment, the likely target of the next launch; None if there is none or they may not
    launch."""
    experiments = Experiment.objects.visible_to(request.user).current().filter(owner=request.user)
    return experiments.order_by("-pk").first() if may_make(request.user) else None


def _runs(request: SignedIn, since: datetime, own_only: bool) -> dict[str, Any]:
    runs = home_runs(request.user, own_only)
    running, waiting, failed = (
        sections.running_section(runs),
        sections.waiting_section(runs),
        sections.failed_section(runs, since),
    )
    (alarms, alarmed), unreachable = changes.alarms(runs, since), changes.unreachable()
    flagged_runs, flagged = changes.flagged(runs, since)
    return {
        "since": since, "watch": cursors([*running.runs, *waiting.runs]), "columns": COLUMNS, "running": running,
        "waiting": waiting, "failed": failed, "failures": failures(failed, request.user), "alarms": alarms,
        "unreachable": unreachable, "attention": alarmed + flagged + len(unreachable), "alarmed": alarmed,
        "flagged_runs": flagged_runs, "flagged": flagged,
        "news": news(request.user, runs, since, own_only), "own": _own_experiment(request),
        "results": results(runs.trainings()), "notes": unread_notes(request.user),
    }  # fmt: skip
