"""Views of a sweep's page, and the plan and launch of a sweep from the launch form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_change
from runs.http import SignedIn
from runs.launching.budgets import Hours, hours_of, total
from runs.launching.config_form import LaunchForm
from runs.launching.create import check_hours
from runs.launching.resume import CannotResume
from runs.launching.sweeps.commands import (
    cancel_sweep,
    extend_sweep,
    launch_sweep,
    pause_sweep,
    plan_sweep,
    uncancel_sweep,
    unpause_sweep,
)
from runs.launching.sweeps.forms import MoreForm, SweepForm
from runs.launching.sweeps.plan import PlannedRun, label
from runs.launching.sweeps.status import standing
from runs.launching.sweeps.table import best, cell_rows
from runs.metrics import cursors
from runs.models import Experiment, Run, Sweep
from workers.config import ConfigError

FIRST = 5
CELLS_A_PAGE = 50
WATCHED = 100
"""Maximum number of runs that one socket watches."""


@dataclass(frozen=True)
class SweepPlan:
    """Plan of a sweep: its runs, and the hours of all runs that have an estimate together.

    seconds: how long the sweep takes with `at_once` runs at a time, by the same estimates. unknown: how many runs have
    no estimate.
    """

    runs: list[PlannedRun]
    at_once: int
    estimated: Hours
    seconds: float
    unknown: int

    @property
    def cells(self) -> int:
        """Return how many combinations of values the sweep has."""
        return len({label(one.cell) for one in self.runs})

    @property
    def seeds(self) -> int:
        """Return how many seeds the sweep has: each combination of values runs once per seed."""
        return len({one.seed for one in self.runs})

    @property
    def first(self) -> list[tuple[str, int]]:
        """Return the cell and the seed of each of the first runs."""
        return [(label(one.cell), one.seed) for one in self.runs[:FIRST]]


def plan(person: User, experiment: Experiment, form: LaunchForm, swept: SweepForm) -> SweepPlan | None:
    """Return the sweep that a launch would make.

    Return None, and put every problem at its field, if a launch would make nothing.
    """
    try:
        new = swept.sweep(form)
        runs = plan_sweep(new, person)
        demands = check_hours(person, experiment, [one.config for one in runs], new.preset)
    except ConfigError as error:
        form.blame(swept.blame(error.problems))
        return None
    known = [(demand.config, demand.seconds) for demand in demands if demand.seconds is not None]
    return SweepPlan(
        runs=runs,
        at_once=new.at_once,
        estimated=total(hours_of(config, seconds) for config, seconds in known),
        seconds=sum(seconds for _, seconds in known) / min(new.at_once, max(len(runs), 1)),
        unknown=len(runs) - len(known),
    )


def launched(person: User, experiment: Experiment, form: LaunchForm, swept: SweepForm) -> Sweep | None:
    """Launch a sweep and return it. Return None, and put every problem at its field, if it cannot be made."""
    try:
        return launch_sweep(swept.sweep(form), experiment, person)
    except ConfigError as error:
        form.blame(swept.blame(error.problems))
        return None


@require_safe
def sweep(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    found = visible_sweep(request, pk)
    more = MoreForm(found)
    return TemplateResponse(request, "launching/sweep.html", {**_standing(request, found), "more": more})


@require_safe
def sweep_standing(request: SignedIn, pk: int) -> HttpResponse:
    """Render the sweep's status alone, to refresh a page that is open while its runs change."""
    return TemplateResponse(request, "launching/sweep.html#standing", _standing(request, visible_sweep(request, pk)))


@require_POST
def sweep_change(request: SignedIn, pk: int) -> HttpResponse:
    """Pause, resume, cancel or uncancel a sweep, as `do` in the form says.

    Raise PermissionDenied if the person may not change its experiment, and Http404 for an unknown `do`.
    """
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
    """Add the runs that the form describes. Render the form again with every problem if it is invalid."""
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
    """Return the sweep with its experiment and its creator. Raise Http404 if this person may not see it."""
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
