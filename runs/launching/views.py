"""What a person does to a run: end it, or let it go on."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from runs.access import changeable, may_cancel, may_resume
from runs.http import SignedIn, state_words, visible_experiment, visible_run
from runs.launching.commands import cancel_run, resume_run
from runs.launching.resume import CannotResume
from runs.models import Attempt, Experiment, Run
from workers.executors.states import State


@require_POST
def run_cancel(request: SignedIn, uid: str) -> HttpResponse:
    """Asks the run to stop, or calls off the restart that it waits for."""
    found = visible_run(request, uid)
    if not may_cancel(request.user, found):
        raise PermissionDenied
    if found.is_open:
        cancel_run(found, request.user)
        said = gettext("Asked %(name)s to stop. It saves a checkpoint first, if it has begun.")
        messages.info(request, said % {"name": found.name})
    elif found.waits_to_restart:
        cancel_run(found, request.user)
        messages.info(request, gettext("%(name)s will not start again by itself.") % {"name": found.name})
    else:
        said = gettext("%(name)s has already ended: %(state)s.")
        messages.warning(request, said % {"name": found.name, "state": state_words(found.state)})
    return redirect(found)


@require_POST
def run_resume(request: SignedIn, uid: str) -> HttpResponse:
    """Lets the run go on in a new attempt."""
    found = visible_run(request, uid)
    if not may_resume(request.user, found):
        raise PermissionDenied
    try:
        messages.success(request, _what_comes(found, resume_run(found, request.user)))
    except CannotResume as error:
        messages.warning(request, f"{error}.")
    return redirect(found)


@require_POST
def experiment_resume(request: SignedIn, pk: int) -> HttpResponse:
    """Lets all of its interrupted runs go on that this person may resume."""
    found = visible_experiment(request, pk)
    resumed = 0
    for run in interrupted_runs(request, found):
        try:
            resume_run(run, request.user)
            resumed += 1
        except CannotResume as error:
            messages.warning(request, f"{error}.")
    said = ngettext(
        "Resumed %(n)s run, each from its newest checkpoint.",
        "Resumed %(n)s runs, each from its newest checkpoint.",
        resumed,
    )
    messages.success(request, said % {"n": resumed})
    return redirect(found)


def interrupted_runs(request: SignedIn, experiment: Experiment) -> QuerySet[Run]:
    """Runs of an experiment that were interrupted, will not go on by themselves, and may be resumed by this person."""
    waiting = Attempt.objects.filter(restart_at__isnull=False).values("run")
    interrupted = experiment.runs.current().filter(state=State.INTERRUPTED).exclude(pk__in=waiting)
    return changeable(request.user, interrupted).select_related("experiment").order_by("pk")


def _what_comes(run: Run, attempt: Attempt) -> str:
    said = {"name": run.name, "step": attempt.resumed_step, "n": attempt.n}
    if attempt.resumed_step is None:
        return gettext("%(name)s goes on from the beginning, as attempt %(n)s.") % said
    return gettext("%(name)s goes on from step %(step)s, as attempt %(n)s.") % said
