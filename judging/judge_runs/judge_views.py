"""Views of judges: the list, the forms to create and edit one, and its page with calibrations and a test."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judging.access import may_hold
from judging.judge_runs.calibration import repeated
from judging.judge_runs.commands import CannotAsk, Order, start
from judging.judge_runs.forms import JudgeForm, OnGold
from judging.judge_runs.status import standings
from judging.judge_runs.trial import try_out
from judging.judges import CannotKeep, bring_back, change, make, may_ask, retire, rules_judge
from judging.models import Calibration, GoldSet, Judge, Tournament
from runs.http import SignedIn, page_of, selected

JUDGES_A_PAGE = 50
SHELVES = ("current", "retired")
SHOWN_A_PAGE = 20
COMPLAINTS = {
    "few": _("fewer than 30 pairs"),
    "chance": _("agrees with people no better than chance, for sure"),
    "swaps": _("says another thing of more than 4 in 10 pairs when they are turned round"),
    "one_order": _("asked in one order alone, so nobody knows whether it goes by the place"),
    "missing": _("more than 5 in 100 answers are no verdicts"),
}


@require_safe
def judges(request: SignedIn) -> HttpResponse:
    """Render the list of judges that this person sees.

    Imported judges appear only with their tournaments, because a file may name thousands.
    """
    rules_judge()
    shelf = selected(request, "shelf", SHELVES, "current")
    own = Judge.objects.visible_to(request.user).exclude(kind=Judge.Kind.IMPORTED)
    found = own.filter(retired_at__isnull=shelf == "current").select_related("owner")
    counted = found.annotate(asked=Count("calls")).order_by("kind", "name", "pk")
    page = page_of(request, counted, JUDGES_A_PAGE)
    context = {"rows": _with_calibrations(page), "page": page, "shelf": shelf, "may_hold": may_hold(request.user)}
    return TemplateResponse(request, "judging/judge_runs/judges.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def judge_new(request: SignedIn) -> HttpResponse:
    """Render and process the form of a new judge. Raise PermissionDenied if the person may have none."""
    if not may_hold(request.user):
        raise PermissionDenied
    form = JudgeForm(request.POST or None, person=request.user)
    return _saved(request, form, None)


@require_http_methods(["GET", "HEAD", "POST"])
def judge_edit(request: SignedIn, pk: int) -> HttpResponse:
    """Render and process the form of an existing judge. Raise PermissionDenied if the person may not edit it."""
    found = _own(request, pk)
    form = JudgeForm(request.POST or None, person=request.user, instance=found)
    return _saved(request, form, found)


@require_safe
def judge(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page of a judge."""
    return _page(request, _visible(request, pk), OnGold(person=request.user))


@require_POST
def judge_change(request: SignedIn, pk: int) -> HttpResponse:
    """Process a button of the judge's page: `do` is calibrate, test, retire or bring-back. Raise Http404 for others."""
    found, do = _own(request, pk), request.POST.get("do", "")
    if do == "calibrate":
        return _calibrate(request, found)
    if do == "test":
        tried = try_out(found)
        (messages.success if tried.went_well else messages.error)(request, tried.words)
        return redirect(found)
    if do == "bring-back":
        return _bring_back(request, found)
    if do != "retire":
        raise Http404(f"do must be one of calibrate, test, retire, bring-back, not {do!r}")
    retire(found)
    messages.success(request, gettext("%(name)s has retired; what it said stays.") % {"name": found.name})
    return redirect(found)


def _bring_back(request: SignedIn, found: Judge) -> HttpResponse:
    try:
        bring_back(found)
    except CannotKeep as error:
        messages.error(request, str(error))
    else:
        messages.success(request, gettext("%(name)s may be asked again.") % {"name": found.name})
    return redirect(found)


def _with_calibrations(page: Page[Any]) -> list[tuple[Judge, list[Calibration]]]:
    """Return each judge of the page with its newest calibration by each rubric."""
    newest = Calibration.objects.filter(judge__in=list(page)).order_by("judge_id", "rubric_id", "-at", "-pk")
    of: dict[int, list[Calibration]] = {}
    for one in newest.distinct("judge_id", "rubric_id").select_related("rubric__criterion"):
        of.setdefault(one.judge_id, []).append(one)
    return [(one, of.get(one.pk, [])) for one in page]


def _calibrate(request: SignedIn, found: Judge) -> HttpResponse:
    form = OnGold(request.POST, person=request.user)
    if form.is_valid():
        said = {name: form.cleaned_data[name] for name in ("gold_set", "cap", "both_orders")}
        try:
            start(Order(found, list(form.cleaned_data["rubrics"]), **said), request.user)
        except CannotAsk as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, gettext("It is asked what people have judged already."))
            return redirect(found)
    return _page(request, found, form)


def _saved(request: SignedIn, form: JudgeForm, found: Judge | None) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            kept = make(request.user, form.draft) if found is None else change(found, form.draft)
        except CannotKeep as error:
            form.add_error(error.field, str(error))
        else:
            messages.success(request, gettext("Saved %(name)s.") % {"name": kept.name})
            return redirect(kept)
    context = {"form": form, "judge": found}
    return TemplateResponse(request, "judging/judge_runs/judge_edit.html", context, status=400 if form.errors else 200)


def _page(request: SignedIn, found: Judge, form: OnGold) -> HttpResponse:
    gold = GoldSet.objects.visible_to(request.user)
    seen = Q(gold_set__in=gold) | Q(tournament__in=Tournament.objects.visible_to(request.user))
    rows = found.assignments.filter(seen).select_related("judge", "tournament", "gold_set").order_by("-pk")
    work, calibrations = page_of(request, rows, SHOWN_A_PAGE, "work"), _calibrations(request, found)
    at_work = list(work)
    context: dict[str, Any] = {
        "judge": found, "form": form, "may_ask": may_ask(request.user, found) and found.kind == Judge.Kind.OPENAI,
        "calibrations": [(one, _complaints(one.measured)) for one in calibrations], "calibrated": calibrations,
        "gold_seen": set(gold.values_list("pk", flat=True)),
        "repeated": repeated(found, Tournament.objects.visible_to(request.user)),
        "at_work": list(zip(at_work, standings(at_work), strict=True)), "work": work,
    }  # fmt: skip
    return TemplateResponse(request, "judging/judge_runs/judge.html", context, status=400 if form.errors else 200)


def _calibrations(request: SignedIn, found: Judge) -> Page[Calibration]:
    rows = found.calibrations.select_related("rubric__criterion", "gold_set").order_by("-at", "-pk")
    return page_of(request, rows, SHOWN_A_PAGE, "calibrations")


def _complaints(measured: dict[str, Any]) -> list[str]:
    return [gettext(COMPLAINTS[name]) for name in measured.get("complaints", []) if name in COMPLAINTS]


def _visible(request: SignedIn, pk: int) -> Judge:
    return get_object_or_404(Judge.objects.visible_to(request.user).select_related("owner", "key"), pk=pk)


def _own(request: SignedIn, pk: int) -> Judge:
    found = _visible(request, pk)
    if not may_ask(request.user, found) or found.kind != Judge.Kind.OPENAI:
        raise PermissionDenied
    return found
