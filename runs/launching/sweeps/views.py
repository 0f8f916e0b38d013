"""A sweep: how it stands, its cells, and what is done to it as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_change
from runs.http import SignedIn
from runs.launching.resume import CannotResume
from runs.launching.sweeps.commands import cancel_sweep, extend_sweep, pause_sweep, uncancel_sweep, unpause_sweep
from runs.launching.sweeps.forms import MoreForm
from runs.launching.sweeps.status import standing
from runs.launching.sweeps.table import best, cell_rows
from runs.metrics.reading import cursors
from runs.models import Run, Sweep
from workers.config import ConfigError

CELLS_A_PAGE = 50
WATCHED = 100
"""A socket takes no more."""


@require_safe
def sweep(request: SignedIn, pk: int) -> HttpResponse:
    """The whole page."""
    found = visible_sweep(request, pk)
    more = MoreForm(found)
    return TemplateResponse(request, "launching/sweep.html", {**_standing(request, found), "more": more})


@require_safe
def sweep_standing(request: SignedIn, pk: int) -> HttpResponse:
    """How it stands, alone, for a page that is open while its runs change."""
    return TemplateResponse(request, "launching/sweep.html#standing", _standing(request, visible_sweep(request, pk)))


@require_POST
def sweep_change(request: SignedIn, pk: int) -> HttpResponse:
    """What the buttons do: `do` is pause, resume, cancel or uncancel."""
    found = _mine(request, pk)
    if (verb := VERBS.get(request.POST.get("do", ""))) is None:
        raise Http404(f"do must be one of {', '.join(VERBS)}")
    try:
        messages.success(request, verb(request, found))
    except CannotResume as error:
        messages.warning(request, f"{error}.")
    return redirect(found)


@require_POST
def sweep_extend(request: SignedIn, pk: int) -> HttpResponse:
    """Adds what the form says; where that cannot be used, the form comes back with every problem."""
    found = _mine(request, pk)
    more = MoreForm(found, request.POST)
    if more.is_valid():
        try:
            made = extend_sweep(found, request.user, **more.asked)
        except ConfigError as error:
            more.blame(error.problems)
        else:
            messages.success(request, _added(len(made)))
            return redirect(found)
    return TemplateResponse(request, "launching/sweep.html", {**_standing(request, found), "more": more}, status=400)


def visible_sweep(request: SignedIn, pk: int) -> Sweep:
    """The sweep, with its experiment and who made it; 404 where this person may not see it."""
    sweeps = Sweep.objects.visible_to(request.user).select_related("experiment__owner", "created_by")
    return get_object_or_404(sweeps, pk=pk)


def _mine(request: SignedIn, pk: int) -> Sweep:
    found = visible_sweep(request, pk)
    if not may_change(request.user, found.experiment):
        raise PermissionDenied
    return found


def _standing(request: SignedIn, found: Sweep) -> dict[str, Any]:
    now, rows = standing(found), cell_rows(found)
    page = Paginator(rows, CELLS_A_PAGE).get_page(request.GET.get("page"))
    shown = [run.uid for row in page for run in row.runs][:WATCHED]
    return {
        "sweep": found, "now": now, "page": page, "best": best(rows), "cells": len(rows),
        "seeds": sorted({run.seed for row in rows for run in row.runs}),
        "share": now.ended / now.total if now.total else 0,
        "watch": cursors(list(Run.objects.filter(uid__in=shown))),
        "may_change": may_change(request.user, found.experiment),
        "undoable": found.cancelled_at is not None and any(state == "cancelled" for state, _ in now.states),
    }  # fmt: skip


def _added(n: int) -> str:
    if not n:
        return gettext("All of these runs are there already: nothing was added.")
    return ngettext("Added %(n)s run.", "Added %(n)s runs.", n) % {"n": n}


def _pause(request: SignedIn, found: Sweep) -> str:
    pause_sweep(found)
    return gettext("Paused: nothing more of it starts. What runs goes on.")


def _resume(request: SignedIn, found: Sweep) -> str:
    unpause_sweep(found)
    return gettext("It goes on: what waits starts when there is room.")


def _cancel(request: SignedIn, found: Sweep) -> str:
    stopped = cancel_sweep(found, request.user)
    said = ngettext(
        "Asked %(n)s run to stop. Each saves a checkpoint first, if it has begun.",
        "Asked %(n)s runs to stop. Each saves a checkpoint first, if it has begun.",
        stopped,
    )
    return said % {"n": stopped}


def _uncancel(request: SignedIn, found: Sweep) -> str:
    resumed = uncancel_sweep(found, request.user)
    said = ngettext(
        "%(n)s run goes on, from its newest checkpoint where it has one.",
        "%(n)s runs go on, each from its newest checkpoint where it has one.",
        resumed,
    )
    return said % {"n": resumed}


VERBS: dict[str, Callable[[SignedIn, Sweep], str]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "uncancel": _uncancel,
}
