"""Attempts of a run with their events and environments, as the log's tab shows them."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from runs.http import SignedIn, visible_run
from runs.models import AttemptEvent, Run
from runs.run_page.environment import environment_rows
from runs.run_page.status import with_delivery
from runs.run_page.tabs import tab_fragment


@require_safe
def run_past(request: SignedIn, uid: str) -> HttpResponse:
    """Render the attempts alone for htmx; redirect other requests to their tab."""
    run = visible_run(request, uid)
    if not request.htmx:
        return redirect("run-log", uid)
    return tab_fragment(request, run, "run_page/attempts.html", attempts_context(run))


def attempts_context(run: Run) -> dict[str, Any]:
    """Return the template context of a run's attempts, the newest first."""
    events = AttemptEvent.objects.order_by("at", "pk")
    attempts = run.attempts.select_related("cluster").prefetch_related(Prefetch("events", events)).order_by("-n")
    return {"attempts": environment_rows(with_delivery(attempts))}
