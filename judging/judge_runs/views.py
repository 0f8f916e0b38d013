"""Views of model judges on a tournament: the estimated cost, their progress, and the buttons that stop them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judging.access import may_manage
from judging.http import manageable_tournament, visible_tournament
from judging.judge_runs import status
from judging.judge_runs.commands import CannotAsk, cancel, pause, resume, start
from judging.judge_runs.forms import TournamentWorkForm
from judging.judge_runs.status import Estimate, get_statuses
from judging.judges import exclusion_reasons, may_ask, self_preference_warning
from judging.models import Assignment, GoldSet, Judge, Tournament
from runs.access import Role, role_of
from runs.http import SignedIn, page_of

AGAIN = "again"
ACTIONS = ("cancel", "go-on", AGAIN, "pause")
ASSIGNMENTS_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def tournament_judges(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page. A POST starts a judge, or, with `estimate`, estimates the cost of that."""
    tournament = visible_tournament(request, pk)
    form = _form(request, tournament)
    if request.method == "POST":
        manageable_tournament(request, pk)
    if request.method != "POST" or not form.is_valid():
        return _page(request, tournament, form)
    options = {name: form.cleaned_data[name] for name in ("judge", "cap", "both_orders", "asks_twice")}
    assignment = Assignment(tournament=tournament, created_by=request.user, **options)
    rubrics = list(form.cleaned_data["rubrics"])
    if "estimate" in request.POST:
        return _page(request, tournament, form, status.estimate(assignment, rubrics))
    try:
        start(assignment, rubrics)
    except CannotAsk as error:
        form.add_error(None, str(error))
        return _page(request, tournament, form)
    messages.success(request, gettext("Started %(judge)s.") % {"judge": assignment.judge})
    return redirect("tournament-judges", pk=tournament.pk)


@require_safe
def tournament_judges_progress(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the judges' progress, to refresh a page that is open."""
    tournament = visible_tournament(request, pk)
    return TemplateResponse(request, "judging/judge_runs/assignments.html", _progress_context(request, tournament))


@require_POST
def assignment_change(request: SignedIn, pk: int) -> HttpResponse:
    """Carry out a button of an assignment.

    `do` is one of ACTIONS. `cap`, if not empty, is the new cap of an assignment that resumes.
    """
    assignment = get_object_or_404(_visible(request), pk=pk)
    if not may_ask(request.user, assignment.judge):
        raise PermissionDenied
    do = request.POST.get("do", "")
    if do not in ACTIONS:
        raise Http404(f"do must be one of {', '.join(ACTIONS)}, not {do!r}")
    try:
        _run_action(assignment, do, request.POST.get("cap", ""))
    except CannotAsk as error:
        messages.error(request, str(error))
    return (
        redirect(assignment.judge)
        if assignment.tournament is None
        else redirect("tournament-judges", pk=assignment.tournament.pk)
    )


def _run_action(assignment: Assignment, do: str, cap: str) -> None:
    if do == "cancel":
        cancel(assignment)
    elif do == "pause":
        pause(assignment)
    else:
        resume(assignment, _cap(cap), again=do == AGAIN)


def _cap(text: str) -> Decimal | None:
    """Parse a new cap. Return None if the field is empty. Raise CannotAsk if the text is not a valid cap."""
    if not text.strip():
        return None
    try:
        cap = Decimal(text)
    except InvalidOperation:
        cap = Decimal("NaN")
    if not (cap.is_finite() and 0 <= cap < Decimal(10) ** 8):
        raise CannotAsk(gettext("cap must be a number of at least 0, not %(value)r.") % {"value": text[:40]})
    return cap


def _visible(request: SignedIn) -> QuerySet[Assignment]:
    judges, tournaments = Judge.objects.visible_to(request.user), Tournament.objects.visible_to(request.user)
    seen = Q(gold_set__in=GoldSet.objects.visible_to(request.user)) | Q(tournament__in=tournaments)
    return Assignment.objects.filter(seen, judge__in=judges).select_related("judge", "tournament")


def _form(request: SignedIn, tournament: Tournament) -> TournamentWorkForm:
    judges = Judge.objects.visible_to(request.user).filter(kind=Judge.Kind.OPENAI, retired_at=None).order_by("name")
    if role_of(request.user) != Role.ADMIN:
        judges = judges.filter(owner=request.user)
    rubrics = tournament.rubrics.select_related("criterion").order_by("pk")
    return TournamentWorkForm(request.POST or None, judges=judges, rubrics=rubrics)


def _page(
    request: SignedIn, tournament: Tournament, form: TournamentWorkForm, estimate: Estimate | None = None
) -> HttpResponse:
    context = _progress_context(request, tournament) | {
        "form": form, "estimate": estimate, "may_manage": may_manage(request.user, tournament),
        "has_judges": form.fields["judge"].queryset.exists(),  # type: ignore[attr-defined]
    }  # fmt: skip
    return TemplateResponse(
        request, "judging/judge_runs/tournament_judges.html", context, status=400 if form.errors else 200
    )


def _progress_context(request: SignedIn, tournament: Tournament) -> dict[str, Any]:
    page = page_of(request, tournament.assignments.select_related("judge").order_by("-pk"), ASSIGNMENTS_A_PAGE)
    rows = list(page)
    judges = {row.judge for row in rows}
    return {
        "tournament": tournament,
        "page": page,
        "assignments": [
            (row, status_row, may_ask(request.user, row.judge))
            for row, status_row in zip(rows, get_statuses(rows), strict=True)
        ],
        "is_running": any(row.state == Assignment.State.RUNNING for row in rows),
        "exclusion_reasons": _exclusion_reasons(tournament, judges),
        "family_warnings": _self_preference_warnings(tournament, judges),
    }


def _exclusion_reasons(tournament: Tournament, judges: set[Judge]) -> list[str]:
    """Return the reasons why verdicts of these judges, present or to come, count on no board."""
    rubrics = list(tournament.rubrics.select_related("criterion").order_by("pk"))
    return list(exclusion_reasons(sorted(judges, key=str), rubrics, tournament).values())


def _self_preference_warnings(tournament: Tournament, judges: set[Judge]) -> list[str]:
    contestants = list(tournament.contestants.select_related("run"))
    warnings = [self_preference_warning(judge, contestants) for judge in sorted(judges, key=str)]
    return [warning for warning in warnings if warning]
