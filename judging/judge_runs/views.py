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

from judging.access import may_look_after
from judging.http import manageable_tournament, visible_tournament
from judging.judge_runs import status
from judging.judge_runs.commands import CannotAsk, Order, cancel, go_on, pause, start
from judging.judge_runs.forms import OnTournament
from judging.judge_runs.status import Estimate, standings
from judging.judges import kin, left_out, may_ask
from judging.models import Assignment, GoldSet, Judge, Tournament
from runs.access import Role, role_of
from runs.http import SignedIn, page_of

AGAIN = "again"
DOES = ("cancel", "go-on", AGAIN, "pause")
ASSIGNMENTS_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def tournament_judges(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page. A POST starts a judge, or, with `estimate`, estimates the cost of that."""
    found = visible_tournament(request, pk)
    form = _form(request, found)
    if request.method == "POST":
        manageable_tournament(request, pk)
    if request.method != "POST" or not form.is_valid():
        return _page(request, found, form)
    if "estimate" in request.POST:
        return _page(request, found, form, _estimate(found, form))
    said = {name: form.cleaned_data[name] for name in ("cap", "both_orders", "asks_twice")}
    order = Order(form.cleaned_data["judge"], list(form.cleaned_data["rubrics"]), tournament=found, **said)
    try:
        start(order, request.user)
    except CannotAsk as error:
        form.add_error(None, str(error))
        return _page(request, found, form)
    messages.success(request, gettext("%(judge)s is at work.") % {"judge": order.judge})
    return redirect("tournament-judges", pk=found.pk)


@require_safe
def tournament_judges_standing(request: SignedIn, pk: int) -> HttpResponse:
    """Render only the judges' progress, to refresh a page that is open."""
    found = visible_tournament(request, pk)
    return TemplateResponse(request, "judging/judge_runs/judges_at_work.html", _at_work(request, found))


@require_POST
def assignment_change(request: SignedIn, pk: int) -> HttpResponse:
    """Carry out a button of an assignment.

    `do` is one of DOES. `cap`, if not empty, is the new cap of an assignment that resumes.
    """
    found = get_object_or_404(_visible(request), pk=pk)
    if not may_ask(request.user, found.judge):
        raise PermissionDenied
    do = request.POST.get("do", "")
    if do not in DOES:
        raise Http404(f"do must be one of {', '.join(DOES)}, not {do!r}")
    try:
        _do(found, do, request.POST.get("cap", ""))
    except CannotAsk as error:
        messages.error(request, str(error))
    return redirect(found.judge) if found.tournament is None else redirect("tournament-judges", pk=found.tournament.pk)


def _do(found: Assignment, do: str, cap: str) -> None:
    if do == "cancel":
        cancel(found)
    elif do == "pause":
        pause(found)
    else:
        go_on(found, _cap(cap), again=do == AGAIN)


def _cap(said: str) -> Decimal | None:
    """Parse a new cap. Return None if the field is empty. Raise CannotAsk if the text is not a valid cap."""
    if not said.strip():
        return None
    try:
        cap = Decimal(said)
    except InvalidOperation:
        cap = Decimal("NaN")
    if not (cap.is_finite() and 0 <= cap < Decimal(10) ** 8):
        raise CannotAsk(gettext("A cap is a number from 0, not %(said)r.") % {"said": said[:40]})
    return cap


def _visible(request: SignedIn) -> QuerySet[Assignment]:
    judges, tournaments = Judge.objects.visible_to(request.user), Tournament.objects.visible_to(request.user)
    seen = Q(gold_set__in=GoldSet.objects.visible_to(request.user)) | Q(tournament__in=tournaments)
    return Assignment.objects.filter(seen, judge__in=judges).select_related("judge", "tournament")


def _form(request: SignedIn, found: Tournament) -> OnTournament:
    judges = Judge.objects.visible_to(request.user).filter(kind=Judge.Kind.OPENAI, retired_at=None).order_by("name")
    if role_of(request.user) != Role.ADMIN:
        judges = judges.filter(owner=request.user)
    rubrics = found.rubrics.select_related("criterion").order_by("pk")
    return OnTournament(request.POST or None, judges=judges, rubrics=rubrics)


def _estimate(found: Tournament, form: OnTournament) -> Estimate:
    said = form.cleaned_data
    how = {name: said[name] for name in ("both_orders", "asks_twice")}
    return status.estimate(said["judge"], found, list(said["rubrics"]), **how)


def _page(request: SignedIn, found: Tournament, form: OnTournament, estimate: Estimate | None = None) -> HttpResponse:
    context = _at_work(request, found) | {
        "form": form, "estimate": estimate, "own": may_look_after(request.user, found),
        "has_judges": form.fields["judge"].queryset.exists(),  # type: ignore[attr-defined]
    }  # fmt: skip
    return TemplateResponse(
        request, "judging/judge_runs/tournament_judges.html", context, status=400 if form.errors else 200
    )


def _at_work(request: SignedIn, found: Tournament) -> dict[str, Any]:
    page = page_of(request, found.assignments.select_related("judge").order_by("-pk"), ASSIGNMENTS_A_PAGE)
    rows = list(page)
    judges = {row.judge for row in rows}
    return {
        "tournament": found,
        "page": page,
        "at_work": [
            (row, standing, may_ask(request.user, row.judge))
            for row, standing in zip(rows, standings(rows), strict=True)
        ],
        "is_going": any(row.state == Assignment.State.RUNNING for row in rows),
        "gates": _gates(found, judges),
        "kin": _kin(found, judges),
    }


def _gates(found: Tournament, judges: set[Judge]) -> list[str]:
    """Return the reasons why verdicts of these judges, present or to come, count on no board."""
    rubrics = list(found.rubrics.select_related("criterion").order_by("pk"))
    return list(left_out(sorted(judges, key=str), rubrics, found).values())


def _kin(found: Tournament, judges: set[Judge]) -> list[str]:
    contestants = list(found.contestants.select_related("run"))
    said = [kin(judge, contestants) for judge in sorted(judges, key=str)]
    return [words for words in said if words]
