"""The launch page: a form with a preset and every setting; its runs start when it is submitted."""

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
from runs.http import SignedIn, require_choice, visible_experiment, visible_run
from runs.kinds import EXAMINATIONS, TRAINING, Examination
from runs.launching.commands import launch_run
from runs.launching.config_form import LaunchForm, can_be_cloned, initial_from, problems_of
from runs.launching.create import check_config, estimate_demands
from runs.launching.gpu_memory import GpuDefaults, describe_gpus, planned_resources
from runs.launching.missing_models import missing_model_notes
from runs.launching.preflight import check_launch
from runs.launching.presets.adaptation import fill_form, find_form_adaptation
from runs.launching.request import merged, value_at
from runs.launching.resources import by_hand_problems, find_parent
from runs.launching.run_names import parent_name
from runs.launching.sweeps.forms import SweepForm
from runs.launching.sweeps.views import launch_from_form, plan
from runs.launching.turns import posts_in_turn
from runs.models import Experiment, Run, Sweep
from workers.config import ConfigError, RunConfig, current_name, preset, presets

FIRST_PRESET = "es-tiny"
GPUS = "compute.gpus"


@dataclass(frozen=True)
class Change:
    """A field in which a launch differs from the run that it is cloned from; `field` is its HTML id."""

    field: str
    name: str
    before: str
    after: str


@require_http_methods(["GET", "HEAD", "POST"])
@posts_in_turn
def launch(request: SignedIn, pk: int) -> HttpResponse:
    """Render the form, filled from `preset` and other query fields, from a run to `clone`, or from runs to examine,
    named by a parameter of EXAMINATIONS. A POST launches it; with `adapt`, it fits the form to its cluster instead."""
    experiment = visible_experiment(request, pk)
    if not may_launch(request.user, experiment):
        raise PermissionDenied
    changed: list[Change] = []
    sweep_form, adapted = SweepForm(), None
    if request.method == "POST" and "adapt" in request.POST:
        form, sweep_form = _posted_form(request), SweepForm(request.POST)
        if (adapted := find_form_adaptation(form)) and adapted.config is not None:
            form = fill_form(form, adapted.config)
    elif request.method == "POST":
        form, sweep_form = _posted_form(request), SweepForm(request.POST)
        if _both_valid(form, sweep_form) and (target := _launch_form(request, experiment, form, sweep_form)):
            return redirect(target)
    elif "clone" in request.GET:
        cloned = visible_run(request, request.GET["clone"])
        form = LaunchForm.from_run(cloned)
        for problem in by_hand_problems(cloned.config) if can_be_cloned(cloned) else ():
            messages.warning(request, gettext("Omitted: %(problem)s.") % {"problem": problem})
        changed = _apply_changes(request, form)
    elif examination := next((e for e in EXAMINATIONS if e.method in request.GET), None):
        form = LaunchForm(initial=_examination_initial(request, examination))
    else:
        form = LaunchForm(initial=_initial(request))
    named = form["preset"].value() or ""
    context = {
        "experiment": experiment,
        "form": form,
        "swept": sweep_form,
        "preset": presets().get(named),
        "missing_models": _missing_models(named),
        "clone": request.GET.get("clone"),
        "changed": changed,
        "adapted": adapted,
        "adaptable": find_form_adaptation(form) if request.method == "POST" else None,
    }
    status = 400 if (form.errors or sweep_form.errors) and request.method == "POST" else 200
    return TemplateResponse(request, "launching/launch.html", context, status=status)


@require_POST
def launch_check(request: SignedIn, pk: int) -> HttpResponse:
    """Show the problems that a launch of this form would report, and how long its runs would take; launch nothing."""
    experiment = visible_experiment(request, pk)
    if not may_launch(request.user, experiment):
        raise PermissionDenied
    form, sweep_form = _posted_form(request), SweepForm(request.POST)
    is_sweep = _both_valid(form, sweep_form) and sweep_form.is_requested
    checked = (
        _check_sweep(request, experiment, form, sweep_form) if is_sweep else _check_runs(request, experiment, form)
    )
    problems = [*_problems(form), *_problems(sweep_form)]
    context = {"form": form, "swept": sweep_form, "problems": problems, "experiment": experiment, **checked}
    context["adaptable"] = find_form_adaptation(form)
    return TemplateResponse(request, "launching/launch_check.html", context)


def _posted_form(request: SignedIn) -> LaunchForm:
    """Return the form as sent. A cloned run that was deleted meanwhile only loses its part in the name."""
    uid = request.POST.get("cloned", "")
    cloned = Run.objects.visible_to(request.user).filter(uid=uid).first() if uid else None
    return LaunchForm(request.POST, cloned=cloned, decode=GpuDefaults(request.user).decode)


def _both_valid(form: LaunchForm, sweep_form: SweepForm) -> bool:
    # Both forms are validated, so that the user sees all problems together.
    return all([form.is_valid(), sweep_form.is_valid()])


def _launch_form(
    request: SignedIn, experiment: Experiment, form: LaunchForm, sweep_form: SweepForm
) -> Run | Sweep | Experiment | None:
    """Launch the form's runs. Return the object whose page comes next, or None if nothing was launched.

    The object is the run, the experiment with its runs, or the sweep.
    """
    if sweep_form.is_requested:
        return launch_from_form(request.user, experiment, form, sweep_form)
    if not (runs := _launch_runs(request, experiment, form)):
        return None
    message = ngettext("Launched %(n)s run.", "Launched %(n)s runs.", len(runs))
    messages.success(request, message % {"n": len(runs)})
    return runs[0] if len(runs) == 1 else experiment


def _check_runs(request: SignedIn, experiment: Experiment, form: LaunchForm) -> dict[str, Any]:
    """Return the estimate of one run, and the hours and the pre-flight check of all runs. Add every problem to its
    field."""
    if not form.is_valid():
        return {}
    configs, preset_name = form.configs, form.cleaned_data.get("preset", "")
    try:
        check_config(configs[0], request.user)
        estimate_demands(request.user, experiment, configs, preset_name)
    except ConfigError as error:
        form.add_problems(error.problems)
        return {}
    preflight = check_launch(configs, request.user, preset_name)
    names = [] if form.cleaned_data["name"].strip() else _names(request, experiment, form)
    missing = missing_model_notes(configs[:1])
    return {
        "estimate": preflight.hours.longest, "cost": preflight.hours.cost, "preflight": preflight, "names": names,
        "missing_models": missing, "resources": planned_resources(configs[0], request.user),
        "gpu_reasons": describe_gpus(configs[:1], request.user, are_open=form.leaves_open(GPUS)),
    }  # fmt: skip


def _check_sweep(request: SignedIn, experiment: Experiment, form: LaunchForm, sweep_form: SweepForm) -> dict[str, Any]:
    """Return the plan of the sweep, and the pre-flight check of its runs. Add every problem to its field."""
    if (sweep_plan := plan(request.user, experiment, form, sweep_form)) is None:
        return {"plan": None}
    configs = [planned.config for planned in sweep_plan.runs]
    open_configs = [planned.config for planned in sweep_plan.runs if GPUS not in planned.cell]
    preflight = check_launch(configs, request.user, form.cleaned_data.get("preset", ""))
    return {
        "plan": sweep_plan,
        "preflight": preflight,
        "missing_models": missing_model_notes(configs),
        "gpu_reasons": describe_gpus(open_configs, request.user, are_open=form.leaves_open(GPUS)),
    }


def _problems(form: LaunchForm | SweepForm) -> list[tuple[BoundField | None, str]]:
    """Return (field or None, error message), in the order of the form."""
    problems: list[tuple[BoundField | None, str]] = [(None, str(error)) for error in form.non_field_errors()]
    return problems + [(field, str(error)) for field in form for error in field.errors]


def _launch_runs(request: SignedIn, experiment: Experiment, form: LaunchForm) -> list[Run]:
    """Launch all of the form's runs or none. Add problems that only the launch finds, such as an unknown cluster."""
    preset_name = form.cleaned_data["preset"]
    try:
        with transaction.atomic():
            return [
                launch_run(experiment=experiment, person=request.user, config=config, name=name, preset=preset_name)
                for config, name in zip(form.configs, _names(request, experiment, form), strict=True)
            ]
    except ConfigError as error:
        form.add_problems(error.problems)
        return []


def _names(request: SignedIn, experiment: Experiment, form: LaunchForm) -> list[str]:
    """Return a name for each run of a valid form."""
    parent, _step = find_parent(form.configs[0], request.user)
    return form.names(parent_name(parent, experiment))


def _apply_changes(request: SignedIn, form: LaunchForm) -> list[Change]:
    """Replace values of the cloned run by those of the query, given by field or as `with` and `value`."""
    changes: dict[str, str] = {
        name: str(value) for name, value in request.GET.items() if name not in ("clone", "with", "value")
    }
    if "with" in request.GET:
        changes[request.GET["with"]] = request.GET.get("value", "")
    for name in [name for name in changes if name not in form.fields]:
        message = gettext("Unknown field %(name)s ignored. Known fields: %(fields)s.")
        messages.warning(request, message % {"name": name, "fields": ", ".join(form.fields)})
        del changes[name]
    before: dict[str, Any] = dict(form.data if form.is_bound else form.initial)
    if form.is_bound:
        form.data = {**before, **changes}
    else:
        form.initial = {**before, **changes}
    return [Change(str(form[name].auto_id), name, str(before.get(name) or ""), changes[name]) for name in changes]


def _missing_models(preset_name: str) -> list[str]:
    """Return what the launch of this preset makes first; an empty list without a preset."""
    known = presets().get(preset_name)
    return missing_model_notes([RunConfig.from_json(known.config)]) if known else []


def _examination_initial(request: SignedIn, examination: Examination) -> dict[str, Any]:
    """Return the initial values of a run that examines the runs of the query, with settings of the first of them if its
    config is still valid."""
    # One more than can be examined, so that the form reports that there are too many.
    uids = list(dict.fromkeys(request.GET.getlist(examination.method)))[: examination.max_runs + 1]
    examined = [visible_run(request, uid) for uid in (uids if examination.is_list else uids[-1:])]
    names = [f"run:{run.uid}" for run in examined]
    own = {examination.setting: names if examination.is_list else names[0]} if examination.setting else {}
    config: dict[str, Any] = {"method": examination.method, examination.method: own}
    if not problems_of(examined[0]):
        decoded = examined[0].run_config.to_json()
        for path in examination.copies:
            value = value_at(decoded, path)
            for key in reversed(path.split(".")):
                value = {key: value}
            # The named runs stay, whatever is copied into their section.
            config = merged(value, config)
    return {"seeds": "0", **initial_from(config), "preset": ""}


def _initial(request: SignedIn) -> dict[str, Any]:
    former = request.GET.get("preset", "")
    named = current_name(former)
    if named == former:
        named = require_choice(request, "preset", ["", *presets()], FIRST_PRESET)
    config = preset(named).config if named else {"method": TRAINING.method}
    typed = {name: value for name, value in request.GET.items() if name in LaunchForm().fields}
    return {"seeds": "0", **initial_from(config), **typed, "preset": named}
