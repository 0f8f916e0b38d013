"""Views of a sweep's page, and the plan and launch of a sweep from the launch form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_change
from runs.http import FILES, SignedIn, require_choice, table_response
from runs.launching.budgets import Hours, total
from runs.launching.config_form import LaunchForm
from runs.launching.create import estimate_demands
from runs.launching.resume import CannotResume
from runs.launching.sweeps.commands import (
    cancel_sweep,
    extend_sweep,
    launch_sweep,
    plan_sweep,
    uncancel_sweep,
    unpause_sweep,
)
from runs.launching.sweeps.export import cells_table, file_name, notes_of
from runs.launching.sweeps.forms import MoreForm, SweepForm
from runs.launching.sweeps.options import parse_options
from runs.launching.sweeps.page import page_context, results_context, status_context
from runs.launching.sweeps.pause import pause_sweep
from runs.launching.sweeps.plan import PlannedRun, label
from runs.launching.sweeps.status import sweep_status
from runs.launching.sweeps.table import cell_rows
from runs.launching.turns import posts_in_turn
from runs.models import Experiment, Sweep
from workers.config import ConfigError

MAX_PREVIEW = 5


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
        return len({label(run.cell) for run in self.runs})

    @property
    def seeds(self) -> int:
        """Return how many seeds the sweep has: each combination of values runs once per seed."""
        return len({run.seed for run in self.runs})

    @property
    def first(self) -> list[tuple[str, int]]:
        """Return the cell and the seed of each of the first runs."""
        return [(label(run.cell), run.seed) for run in self.runs[:MAX_PREVIEW]]


def plan(person: User, experiment: Experiment, form: LaunchForm, sweep_form: SweepForm) -> SweepPlan | None:
    """Return the sweep that a launch would create.

    Return None, and add every problem to its field, if a launch would create nothing.
    """
    try:
        new = sweep_form.sweep(form)
        runs = plan_sweep(new, person)
        demands = estimate_demands(person, experiment, [run.config for run in runs], new.preset)
    except ConfigError as error:
        form.add_problems(sweep_form.add_problems(error.problems))
        return None
    estimated = [(demand.hours, demand.seconds) for demand in demands if demand.seconds is not None]
    return SweepPlan(
        runs=runs,
        at_once=new.at_once,
        estimated=total(hours for hours, _ in estimated),
        seconds=sum(seconds for _, seconds in estimated) / min(new.at_once, max(len(runs), 1)),
        unknown=len(runs) - len(estimated),
    )


def launch_from_form(person: User, experiment: Experiment, form: LaunchForm, sweep_form: SweepForm) -> Sweep | None:
    """Launch a sweep and return it. If it is invalid, return None and add every problem to its field."""
    try:
        return launch_sweep(sweep_form.sweep(form), experiment, person)
    except ConfigError as error:
        form.add_problems(sweep_form.add_problems(error.problems))
        return None


@require_safe
def sweep(request: SignedIn, pk: int) -> HttpResponse:
    """Render the whole page."""
    visible = visible_sweep(request, pk)
    return TemplateResponse(
        request, "launching/sweep.html", {**page_context(request, visible), "more": MoreForm(visible)}
    )


@require_safe
def sweep_status_part(request: SignedIn, pk: int) -> HttpResponse:
    """Render the sweep's status alone, to refresh a page that is open while its runs change."""
    return TemplateResponse(
        request, "launching/sweep.html#standing", status_context(request, visible_sweep(request, pk))
    )


@require_safe
def sweep_results(request: SignedIn, pk: int) -> HttpResponse:
    """Render the heat map, the parallel coordinates and the cells alone, to refresh an open page."""
    return TemplateResponse(
        request, "launching/sweep_results.html", results_context(request, visible_sweep(request, pk))
    )


@require_safe
def sweep_table(request: SignedIn, pk: int) -> HttpResponse:
    """Return all cells as a file. Raise UnknownChoice if `as` is not a kind of file."""
    form = require_choice(request, "as", FILES, FILES[0])
    visible = visible_sweep(request, pk)
    options = parse_options(request, visible)
    rows = cell_rows(visible, options.metric)
    table = cells_table(rows, options, with_seeds=form == "csv")
    return table_response(request, table, file_name(visible.pk, options), notes_of(visible, options))


@require_POST
def sweep_change(request: SignedIn, pk: int) -> HttpResponse:
    """Pause, resume, cancel or uncancel a sweep, as `do` in the form says.

    Raise PermissionDenied if the user may not change its experiment, and Http404 for an unknown `do`.
    """
    visible = _own_sweep(request, pk)
    if (verb := VERBS.get(request.POST.get("do", ""))) is None:
        raise Http404(f"do must be one of {', '.join(VERBS)}")
    try:
        messages.success(request, verb(request, visible))
    except CannotResume as error:
        messages.warning(request, f"{error}.")
    return redirect(visible)


@require_POST
@posts_in_turn
def sweep_extend(request: SignedIn, pk: int) -> HttpResponse:
    """Add the runs that the form describes. Render the form again with every problem if it is invalid."""
    visible = _own_sweep(request, pk)
    more = MoreForm(visible, request.POST)
    if more.is_valid():
        try:
            created = extend_sweep(visible, request.user, **more.additions)
        except ConfigError as error:
            more.add_problems(error.problems)
        else:
            messages.success(request, _added(len(created)))
            return redirect(visible)
    return TemplateResponse(
        request, "launching/sweep.html", {**page_context(request, visible), "more": more}, status=400
    )


def visible_sweep(request: SignedIn, pk: int) -> Sweep:
    """Return the sweep with its experiment and its creator. Raise Http404 if this user may not see it."""
    sweeps = Sweep.objects.visible_to(request.user).select_related("experiment__owner", "created_by")
    return get_object_or_404(sweeps, pk=pk)


def _own_sweep(request: SignedIn, pk: int) -> Sweep:
    visible = visible_sweep(request, pk)
    if not may_change(request.user, visible.experiment):
        raise PermissionDenied
    return visible


def _added(n: int) -> str:
    if not n:
        return gettext("All these runs exist already; nothing was added.")
    return ngettext("Added %(n)s run.", "Added %(n)s runs.", n) % {"n": n}


def _pause(request: SignedIn, visible: Sweep) -> str:
    pause_sweep(visible)
    now = sweep_status(visible)
    parts = [
        gettext("Paused."),
        ngettext("%(n)s run is running and continues.", "%(n)s runs are running and continue.", now.running)
        % {"n": now.running},
        ngettext(
            "%(n)s run waits until the sweep is resumed.", "%(n)s runs wait until the sweep is resumed.", now.not_begun
        )
        % {"n": now.not_begun},
    ]
    if now.leaving:
        message = ngettext(
            "%(n)s of these leaves the queue of its cluster now; if it has just started there, it continues.",
            "%(n)s of these leave the queues of their clusters now; one that has just started there continues.",
            now.leaving,
        )
        parts.append(message % {"n": now.leaving})
    return " ".join(parts)


def _resume(request: SignedIn, visible: Sweep) -> str:
    unpause_sweep(visible)
    return gettext("Resumed. Waiting runs start in their order, when resources are free.")


def _cancel(request: SignedIn, visible: Sweep) -> str:
    stopped = cancel_sweep(visible, request.user)
    message = ngettext(
        "Cancel of %(n)s run requested. It saves a checkpoint first if it has started.",
        "Cancel of %(n)s runs requested. Each saves a checkpoint first if it has started.",
        stopped,
    )
    return message % {"n": stopped}


def _uncancel(request: SignedIn, visible: Sweep) -> str:
    resumed = uncancel_sweep(visible, request.user)
    message = ngettext(
        "%(n)s run resumes, from its newest checkpoint if it has one.",
        "%(n)s runs resume, each from its newest checkpoint if it has one.",
        resumed,
    )
    return message % {"n": resumed}


VERBS: dict[str, Callable[[SignedIn, Sweep], str]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "uncancel": _uncancel,
}
