"""Scores page of a run: scores given afterwards, compared with the run's own, and a form for more scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Avg, Case, Count, F, FloatField, Q, Value, When
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import may_change_run
from runs.http import SignedIn, page_of, visible_run, whole_number
from runs.models import EVALUATION, EvaluatedStep, Response, Run, Score, list_evaluated_steps
from runs.responses.scoring.commands import CannotScore, begin, cancel, resume
from runs.responses.scoring.scorers import choices

ROWS = 50
MAX_SCORINGS = 20
"""Number of displayed scorings, the newest first."""


@require_http_methods(["GET", "HEAD", "POST"])
def run_scores(request: SignedIn, uid: str) -> HttpResponse:
    """Show the page; for htmx only the scorings and their results. A POST begins a scoring."""
    run = visible_run(request, uid)
    if request.method == "POST":
        return _begin_scoring(request, run)
    context = {"run": run, **_scorings_context(request, run)}
    if request.htmx:
        return TemplateResponse(request, "responses/scores.html#told", context)
    return TemplateResponse(request, "responses/scores.html", context | _form_context(request, run))


@require_POST
def run_scoring_change(request: SignedIn, uid: str, pk: int) -> HttpResponse:
    """Cancel a scoring, or resume it."""
    run = visible_run(request, uid)
    if not may_change_run(request.user, run):
        raise PermissionDenied
    scoring = get_object_or_404(run.scorings.select_related("run"), pk=pk)
    try:
        if request.POST.get("do") == "cancel":
            cancel(scoring)
        else:
            resume(scoring)
    except CannotScore as error:
        messages.error(request, str(error))
    return redirect("run-scores", uid)


def _begin_scoring(request: SignedIn, run: Run) -> HttpResponse:
    if not may_change_run(request.user, run):
        raise PermissionDenied
    try:
        step = _step(request.POST.get("step", ""))
        begin(run, request.user, request.POST.get("scorer", ""), step, request.POST.get("split", ""))
    except CannotScore as error:
        messages.error(request, str(error))
    return redirect("run-scores", run.uid)


def _step(text: str) -> int | None:
    if not text:
        return None
    if (step := whole_number(text)) is not None:
        return step
    raise CannotScore(gettext("step must be a whole number, not %(value)r.") % {"value": text[:40]}, "step")


def _scorings_context(request: SignedIn, run: Run) -> dict[str, Any]:
    scorings = list(run.scorings.select_related("asked_by").order_by("-pk")[:MAX_SCORINGS])
    page = page_of(request, _mean_rows(run), ROWS)
    evaluated = _evaluated(run)
    for row in page.object_list:
        row["missing"] = _missing(row, evaluated)
    return {
        "scorings": scorings, "is_going": any(scoring.is_going for scoring in scorings), "page": page,
        "may_score": may_change_run(request.user, run),
    }  # fmt: skip


def _evaluated(run: Run) -> dict[int, EvaluatedStep]:
    return {step.step: step for step in list_evaluated_steps([run]).get(run.pk, ())}


def _missing(row: Mapping[str, Any], evaluated: Mapping[int, EvaluatedStep]) -> str:
    """Return text such as `5 of 32 responses` if the means cover only a part of an evaluation, else ""."""
    evaluation = evaluated.get(row["step"]) if row["split"] == EVALUATION else None
    return replace(evaluation, answers=row["n"]).words if evaluation and row["n"] < evaluation.whole else ""


def _form_context(request: SignedIn, run: Run) -> dict[str, Any]:
    answers = Response.objects.filter(run=run, words__isnull=False).order_by()
    evaluated = _evaluated(run)
    return {
        "scorers": choices(request.user, run),
        "steps": [(step, evaluated.get(step)) for step in sorted(answers.values_list("step", flat=True).distinct())],
        "splits": sorted(answers.values_list("split", flat=True).distinct()),
    }


def _mean_rows(run: Run) -> Any:
    """Return a row for each scorer, split and step.

    A row has `n`, the number of responses that the scorer gave a cost, its means, and the run's own means of the same
    responses.
    """
    rows = Score.objects.filter(response__run=run, response__is_superseded=False)
    rewards, costs = Q(key="reward"), Q(key="cost")
    means = rows.values("scorer", split=F("response__split"), step=F("response__step")).annotate(
        n=Count("pk", filter=costs), reward=Avg("value", filter=rewards), cost=Avg("value", filter=costs),
        safe=_share("value", costs), own_reward=Avg("response__reward", filter=costs),
        own_cost=Avg("response__cost", filter=costs), own_safe=_share("response__cost", costs),
    )  # fmt: skip
    return means.order_by("scorer", "split", "-step")


def _share(name: str, condition: Q) -> Avg:
    """Return the share of the values called `name` that are at most 0, or None if no value is known."""
    below = When(**{f"{name}__lte": 0}, then=Value(1.0))
    above = When(**{f"{name}__gt": 0}, then=Value(0.0))
    return Avg(Case(below, above, output_field=FloatField()), filter=condition)
