"""Views that cancel or resume runs."""

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
from runs.launching.cancel import cancel_refusal
from runs.launching.commands import cancel_run, resume_run
from runs.launching.resume import CannotResume
from runs.launching.turns import posts_in_turn
from runs.models import Attempt, Experiment, Run
from workers.executors.states import State


@require_POST
def run_cancel(request: SignedIn, uid: str) -> HttpResponse:
    """Request the end of the run, or call off its pending restart."""
    run = visible_run(request, uid)
    if not may_cancel(request.user, run):
        raise PermissionDenied
    if refusal := cancel_refusal(run):
        messages.warning(request, refusal)
    elif run.is_open:
        cancel_run(run, request.user)
        message = gettext("Cancel of %(name)s requested. It saves a checkpoint first if it has started.")
        messages.info(request, message % {"name": run.name})
    elif run.waits_to_restart:
        cancel_run(run, request.user)
        messages.info(request, gettext("%(name)s will not restart automatically.") % {"name": run.name})
    else:
        message = gettext("%(name)s has already ended (%(state)s).")
        messages.warning(request, message % {"name": run.name, "state": state_words(run.state)})
    return redirect(run)


@require_POST
@posts_in_turn
def run_resume(request: SignedIn, uid: str) -> HttpResponse:
    """Resume the run in a new attempt."""
    run = visible_run(request, uid)
    if not may_resume(request.user, run):
        raise PermissionDenied
    try:
        messages.success(request, _resume_message(run, resume_run(run, request.user)))
        if run.sweep is not None and run.sweep.paused_at is not None:
            messages.info(request, gettext("Its sweep is paused: it waits until the sweep is resumed."))
    except CannotResume as error:
        messages.warning(request, f"{error}.")
    return redirect(run)


@require_POST
@posts_in_turn
def experiment_resume(request: SignedIn, pk: int) -> HttpResponse:
    """Resume all interrupted runs of the experiment that this user may resume."""
    experiment = visible_experiment(request, pk)
    resumed = 0
    for run in interrupted_runs(request, experiment):
        try:
            resume_run(run, request.user)
            resumed += 1
        except CannotResume as error:
            messages.warning(request, f"{error}.")
    message = ngettext(
        "Resumed %(n)s run, each from its newest checkpoint.",
        "Resumed %(n)s runs, each from its newest checkpoint.",
        resumed,
    )
    messages.success(request, message % {"n": resumed})
    return redirect(experiment)


def interrupted_runs(request: SignedIn, experiment: Experiment) -> QuerySet[Run]:
    """Return the interrupted runs of an experiment without an automatic restart that this user may resume."""
    waiting = Attempt.objects.filter(restart_at__isnull=False).values("run")
    interrupted = (
        experiment.runs.current().filter(state=State.INTERRUPTED, source=None, external=None).exclude(pk__in=waiting)
    )
    return changeable(request.user, interrupted).select_related("experiment").order_by("pk")


def _resume_message(run: Run, attempt: Attempt) -> str:
    params = {"name": run.name, "step": attempt.resumed_step, "n": attempt.n}
    if message := run.kind.resumption.message:
        return gettext(message) % params
    if attempt.resumed_step is None:
        return gettext("%(name)s starts from the beginning, as attempt %(n)s.") % params
    return gettext("%(name)s resumes from step %(step)s, as attempt %(n)s.") % params
