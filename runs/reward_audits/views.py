"""Views of audits: the chart and the files of one, and the audit of the task that a launch form describes."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_launch
from runs.http import SignedIn, chart_response, table_response, visible_experiment, visible_run
from runs.launching.commands import launch_run
from runs.launching.turns import posts_in_turn
from runs.models import Experiment
from runs.models.experiment import config_section
from runs.reward_audits.charts import audit_chart
from runs.reward_audits.launch_form import AuditRequest, read_request
from runs.reward_audits.queries import find_audit, read_audit
from runs.reward_audits.run_page import audit_line, results_context
from runs.reward_audits.tables import attack_file
from workers.config import ConfigError


@require_safe
def run_audit(request: SignedIn, uid: str) -> HttpResponse:
    """Return the results of an audit, which its page fetches again as attacks arrive."""
    run = visible_run(request, uid)
    return TemplateResponse(request, "reward_audits/results.html", {"run": run, **results_context(read_audit(run))})


@require_safe
def run_audit_chart(request: SignedIn, uid: str) -> HttpResponse:
    """Return the chart of an audit: new text and figure, its table, or its data as CSV."""
    run = visible_run(request, uid)
    return chart_response(request, audit_chart(read_audit(run)), f"{run.name} audit")


@require_safe
def run_audit_table(request: SignedIn, uid: str) -> HttpResponse:
    """Return the attacks of an audit as a file."""
    run = visible_run(request, uid)
    notes = [
        f"Audit of the reward: {run.name} ({run.uid})",
        f"Task: {config_section(run.config, 'task').get('name', '')}",
    ]
    return table_response(request, attack_file(read_audit(run)), f"{run.name} audit", notes)


@require_POST
def launch_audit_line(request: SignedIn, pk: int) -> HttpResponse:
    """Return the line about the newest audit of the task that the posted launch form describes."""
    experiment = _may_launch(request, pk)
    return _line(request, experiment, read_request(request.POST))


@require_POST
@posts_in_turn
def launch_audit(request: SignedIn, pk: int) -> HttpResponse:
    """Launch an audit of the task that the posted launch form describes, unless one is under way. Return the line, or
    without htmx the page of the audit."""
    experiment = _may_launch(request, pk)
    requested = read_request(request.POST)
    if requested.config is None:
        return _line(request, experiment, requested)
    run = find_audit(requested.config.task, request.user)
    if run is None or not run.is_open:
        try:
            run = launch_run(experiment=experiment, person=request.user, config=requested.config)
        except ConfigError as error:
            requested = AuditRequest(None, tuple(str(problem) for problem in error.problems))
            return _line(request, experiment, requested)
    return _line(request, experiment, requested) if request.htmx else redirect(run)


def _may_launch(request: SignedIn, pk: int) -> Experiment:
    experiment = visible_experiment(request, pk)
    if not may_launch(request.user, experiment):
        raise PermissionDenied
    return experiment


def _line(request: SignedIn, experiment: Experiment, requested: AuditRequest) -> HttpResponse:
    newest = audit_line(find_audit(requested.config.task, request.user)) if requested.config else {"run": None}
    context = {
        "experiment": experiment,
        "line": newest,
        "problems": requested.problems,
        "is_offered": requested.is_offered,
    }
    status = 200 if request.htmx or not requested.problems else 400
    return TemplateResponse(request, "reward_audits/launch_line.html", context, status=status)
