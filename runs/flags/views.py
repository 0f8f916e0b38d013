"""Views of flags: the lists on a run's page, dismissals, and the thresholds of the site and of experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import may_change, may_change_run
from runs.flags.commands import undo_dismissal
from runs.flags.forms import OFF, DismissalForm, ThresholdsForm
from runs.flags.queries import FlagView, Pair, flags_of_run, reach_of
from runs.flags.sentences import evaluation_name, title_of
from runs.http import SignedIn, require_admin, visible_experiment, visible_run
from runs.models import Experiment, Flag, FlagCheck, FlagDismissal, Run


@dataclass(frozen=True)
class OpenFlag:
    """An open flag with its examples, its earlier dismissals, and the form that dismisses it. viewer_address: the
    address of all responses of its step, beside those before training if they are the run's own."""

    flag: Flag
    pairs: list[Pair]
    dismissals: list[FlagDismissal]
    viewer_address: str
    form: DismissalForm

    @property
    def is_compared(self) -> bool:
        """Return whether any response before training is known."""
        return any(pair.before is not None for pair in self.pairs)


@dataclass(frozen=True)
class FlagLists:
    """The flags of a run: open ones, dismissed ones, and those that fired only at earlier steps than `newest_step`, the
    newest that was checked."""

    open: list[OpenFlag]
    dismissed: list[FlagView]
    earlier: list[FlagView]
    newest_step: int | None

    @property
    def is_any(self) -> bool:
        return bool(self.open or self.dismissed or self.earlier)

    @property
    def may_disturb(self) -> bool:
        """Return whether an example has a cost, as only responses to possibly harmful requests do."""
        responses = [response for view in self.open for pair in view.pairs for response in (pair.before, pair.now)]
        return any(response is not None and response.cost is not None for response in responses)


def flags_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the flags of a run, which detectors cannot fire at its newest evaluation, and whether the user may dismiss
    flags and change the thresholds of its experiment."""
    views, reach = flags_of_run(run), reach_of(run)
    newest = FlagCheck.objects.filter(run=run).values_list("step", flat=True).first() if views else None
    lists = FlagLists(
        [_open_flag(run, view) for view in views if view.is_open],
        [view for view in views if view.flag.is_current and view.dismissal],
        [view for view in views if not view.flag.is_current],
        newest,
    )
    return {
        "flags": lists,
        "reach": reach,
        "reach_evaluation": evaluation_name(reach.number) if reach else "",
        "may_dismiss": may_change_run(request.user, run),
        "may_set_thresholds": may_change(request.user, run.experiment),
    }


def _open_flag(run: Run, view: FlagView) -> OpenFlag:
    before = {pair.before.step for pair in view.pairs if pair.before is not None and pair.before.run_id == run.pk}
    columns = urlencode([("run", f"{run.uid}@{step}") for step in (view.flag.step, *before)], safe="@")
    return OpenFlag(view.flag, view.pairs, view.dismissals, f"{reverse('viewer')}?{columns}", DismissalForm(view.flag))


@require_POST
def flag_dismiss(request: SignedIn, uid: str, pk: int) -> HttpResponse:
    """Dismiss a flag. For an invalid reason, return the form with its errors: alone for htmx, else on a page."""
    run, flag = _changeable_flag(request, uid, pk)
    form = DismissalForm(flag, request.POST)
    if not form.save(request.user):
        context = {"run": run, "flag": flag, "form": form}
        if request.htmx:
            return TemplateResponse(request, "flags/dismiss_form.html", context)
        return TemplateResponse(request, "flags/dismiss.html", context, status=400)
    messages.success(request, gettext("Dismissed the flag “%(title)s”.") % {"title": title_of(flag)})
    return _to_run(request, run)


@require_POST
def flag_undo(request: SignedIn, uid: str, pk: int) -> HttpResponse:
    """Undo the dismissal of a flag."""
    run, flag = _changeable_flag(request, uid, pk)
    undo_dismissal(flag, request.user)
    messages.success(request, gettext("The flag “%(title)s” is open again.") % {"title": title_of(flag)})
    return _to_run(request, run)


def _changeable_flag(request: SignedIn, uid: str, pk: int) -> tuple[Run, Flag]:
    """Return the run and its flag. Raise Http404, or PermissionDenied if the user may not change the run."""
    run = visible_run(request, uid)
    if not may_change_run(request.user, run):
        raise PermissionDenied
    return run, get_object_or_404(run.flags, pk=pk)


def _to_run(request: SignedIn, run: Run) -> HttpResponse:
    """Return to the run's page; for htmx to its top, which shows the message."""
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": run.get_absolute_url()})
    return redirect(f"{run.get_absolute_url()}#flags")


@require_http_methods(["GET", "HEAD", "POST"])
def site_thresholds(request: SignedIn) -> HttpResponse:
    """Render the thresholds of the site, for admins. A POST saves them."""
    require_admin(request)
    return _thresholds(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
def experiment_thresholds(request: SignedIn, pk: int) -> HttpResponse:
    """Render the thresholds of an experiment, for users who may change it. A POST saves them."""
    experiment = visible_experiment(request, pk)
    if not may_change(request.user, experiment):
        raise PermissionDenied
    return _thresholds(request, experiment)


def _thresholds(request: SignedIn, experiment: Experiment | None) -> HttpResponse:
    form = ThresholdsForm(experiment, _posted(request) if request.method == "POST" else None)
    if request.method == "POST" and form.save(request.user):
        messages.success(request, gettext("Saved. The newest evaluation of each run is being checked again."))
        return redirect(request.path)
    template = "flags/experiment_thresholds.html" if experiment else "flags/site_thresholds.html"
    context = {"tab": "flags", "experiment": experiment, "form": form, "rows": list(form.rows())}
    return TemplateResponse(request, template, context, status=400 if form.errors else 200)


def _posted(request: SignedIn) -> Any:
    """Return the posted fields; those of a detector that is reset are empty."""
    data = request.POST.copy()
    for name in data.pop("reset", []):
        data.pop(name, None)
        data.pop(OFF + name, None)
    return data
