"""The launch form: a preset to start from, every knob with its help, and runs that start when it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.forms import BoundField
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import may_launch
from runs.http import SignedIn, selected, visible_experiment, visible_run
from runs.launching import gpu_memory
from runs.launching.budgets import Estimator, hours_of, total
from runs.launching.commands import launch_run
from runs.launching.config_form import LaunchForm, initial_from
from runs.launching.create import check, check_hours
from runs.launching.resources import by_hand_problems
from runs.launching.sweeps.forms import SweepForm
from runs.launching.sweeps.views import launched, plan
from runs.models import Experiment, Run, Sweep
from workers.config import ConfigError, RunConfig, preset, presets

FIRST_PRESET = "es-tiny"


@dataclass(frozen=True)
class Change:
    """A field in which a launch differs from the run that it is cloned from; `field` is its HTML id."""

    field: str
    name: str
    before: str
    after: str


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: SignedIn, pk: int) -> HttpResponse:
    """GET fills the form from `preset` and from any field that the address names, or from a run to `clone`."""
    experiment = visible_experiment(request, pk)
    if not may_launch(request.user, experiment):
        raise PermissionDenied
    changed: list[Change] = []
    swept = SweepForm()
    if request.method == "POST":
        form, swept = LaunchForm(request.POST), SweepForm(request.POST)
        if _both_valid(form, swept) and (there := _launched(request, experiment, form, swept)):
            return redirect(there)
    elif "clone" in request.GET:
        cloned = visible_run(request, request.GET["clone"])
        form = LaunchForm.cloning(cloned)
        for problem in by_hand_problems(cloned.config):
            messages.warning(request, gettext("Left out: %(problem)s.") % {"problem": problem})
        changed = _lay_over(request, form)
    else:
        form = LaunchForm(initial=_initial(request))
    named = form["preset"].value() or ""
    context = {
        "experiment": experiment,
        "form": form,
        "swept": swept,
        "preset": presets().get(named),
        "clone": request.GET.get("clone"),
        "changed": changed,
    }
    status = 400 if (form.errors or swept.errors) and request.method == "POST" else 200
    return TemplateResponse(request, "launching/launch.html", context, status=status)


@require_POST
def launch_check(request: SignedIn, pk: int) -> HttpResponse:
    """Show the problems that a launch of this form would report, and how long its runs would take; launch nothing."""
    experiment = visible_experiment(request, pk)
    if not may_launch(request.user, experiment):
        raise PermissionDenied
    form, swept = LaunchForm(request.POST), SweepForm(request.POST)
    is_sweep = _both_valid(form, swept) and swept.is_asked
    found = _checked_sweep(request, experiment, form, swept) if is_sweep else _checked(request, experiment, form)
    context = {"form": form, "swept": swept, "problems": [*_problems(form), *_problems(swept)], **found}
    return TemplateResponse(request, "launching/launch_check.html", context)


def _both_valid(form: LaunchForm, swept: SweepForm) -> bool:
    # Both are asked: people should see every problem at once.
    return all([form.is_valid(), swept.is_valid()])


def _launched(
    request: SignedIn, experiment: Experiment, form: LaunchForm, swept: SweepForm
) -> Run | Sweep | Experiment | None:
    """Launch the form's runs. Return the object whose page comes next, or None if nothing was launched.

    The object is the run, the experiment with its runs, or the sweep.
    """
    if swept.is_asked:
        return launched(request.user, experiment, form, swept)
    if not (runs := _launch(request, experiment, form)):
        return None
    said = ngettext("Launched %(n)s run.", "Launched %(n)s runs.", len(runs))
    messages.success(request, said % {"n": len(runs)})
    return runs[0] if len(runs) == 1 else experiment


def _checked(request: SignedIn, experiment: Experiment, form: LaunchForm) -> dict[str, Any]:
    """The estimate of one run, its GPU memory, and the hours of all; every problem at its field."""
    if not form.is_valid():
        return {}
    configs = [RunConfig.from_json(config) for config in form.configs]
    preset_name = form.cleaned_data.get("preset", "")
    try:
        check(configs[0], request.user)
        check_hours(request.user, experiment, configs, preset_name)
    except ConfigError as error:
        form.blame(error.problems)
        return {}
    [memory] = gpu_memory.plan_gpu_memory(configs[:1], request.user)
    found = Estimator(request.user).estimate(configs[0], preset_name)
    cost = total(hours_of(config, found.median) for config in configs) if found else None
    return {"estimate": found, "cost": cost, "memory": memory}


def _checked_sweep(request: SignedIn, experiment: Experiment, form: LaunchForm, swept: SweepForm) -> dict[str, Any]:
    """The plan of the sweep, and the GPU memory of the run that needs most; every problem at its field."""
    if (found := plan(request.user, experiment, form, swept)) is None:
        return {"plan": None}
    memory = gpu_memory.largest_plan(gpu_memory.plan_gpu_memory([one.config for one in found.runs], request.user))
    return {"plan": found, "memory": memory}


def _problems(form: LaunchForm | SweepForm) -> list[tuple[BoundField | None, str]]:
    """(field or None, what is wrong), in the order of the form."""
    found: list[tuple[BoundField | None, str]] = [(None, str(error)) for error in form.non_field_errors()]
    return found + [(field, str(error)) for field in form for error in field.errors]


def _launch(request: SignedIn, experiment: Experiment, form: LaunchForm) -> list[Run]:
    """All of them or none: what only the launch can know, such as the clusters there are, is said at its field."""
    preset_name = form.cleaned_data["preset"]
    try:
        with transaction.atomic():
            return [
                launch_run(experiment=experiment, person=request.user, config=config, name=name, preset=preset_name)
                for config, name in zip(form.configs, form.names(), strict=True)
            ]
    except ConfigError as error:
        form.blame(error.problems)
        return []


def _lay_over(request: SignedIn, form: LaunchForm) -> list[Change]:
    """Puts what the address names, field by field or as `with` and `value`, over what the cloned run says."""
    asked: dict[str, str] = {
        name: str(value) for name, value in request.GET.items() if name not in ("clone", "with", "value")
    }
    if "with" in request.GET:
        asked[request.GET["with"]] = request.GET.get("value", "")
    for name in [name for name in asked if name not in form.fields]:
        said = gettext("%(name)s is no field: all is as in the run. Fields: %(fields)s.")
        messages.warning(request, said % {"name": name, "fields": ", ".join(form.fields)})
        del asked[name]
    before: dict[str, Any] = dict(form.data if form.is_bound else form.initial)
    if form.is_bound:
        form.data = {**before, **asked}
    else:
        form.initial = {**before, **asked}
    return [Change(str(form[name].auto_id), name, str(before.get(name) or ""), asked[name]) for name in asked]


def _initial(request: SignedIn) -> dict[str, Any]:
    named = selected(request, "preset", ["", *presets()], FIRST_PRESET)
    config = preset(named).config if named else {"method": "es"}
    given = {name: value for name, value in request.GET.items() if name in LaunchForm().fields}
    return {"seeds": "0", **initial_from(config), **given, "preset": named}
