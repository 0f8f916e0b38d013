"""Views of judges: the list, the forms to create and edit one, and its page with calibrations and a test."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import floatformat
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judging.access import may_create
from judging.boards.format import COEFFICIENTS, estimate_cell
from judging.judge_runs.calibration import RepeatConsistency, measure_repeats
from judging.judge_runs.commands import CannotAsk, start
from judging.judge_runs.forms import GoldWorkForm, JudgeForm
from judging.judge_runs.status import get_statuses
from judging.judge_runs.trial import run_trial
from judging.judges import CannotSaveJudge, change_judge, create_judge, may_ask, retire, rules_judge, unretire
from judging.models import Assignment, Calibration, GoldSet, Judge, Tournament
from runs.http import SignedIn, ago, page_of, require_choice
from runs.tables import COUNTS, Badge, Cell, Column, Interval, Table

JUDGES_A_PAGE = 50
SHELVES = ("current", "retired")
ROWS_A_PAGE = 20
COMPLAINTS = {
    "few": _("fewer than 30 pairs"),
    "chance": _("agreement with humans is not clearly better than chance"),
    "swaps": _("gives another verdict on more than 4 in 10 pairs if their order is swapped"),
    "one_order": _("asked in one order only, so its position bias is unknown"),
    "missing": _("more than 5 in 100 replies have no verdict"),
}


@require_safe
def judges(request: SignedIn) -> HttpResponse:
    """Render the list of judges that this user sees.

    Imported judges appear only with their tournaments, because a file may name thousands.
    """
    rules_judge()
    shelf = require_choice(request, "shelf", SHELVES, "current")
    own = Judge.objects.visible_to(request.user).exclude(kind=Judge.Kind.IMPORTED)
    rows = own.filter(retired_at__isnull=shelf == "current").select_related("owner")
    counted = rows.annotate(call_count=Count("calls")).order_by("kind", "name", "pk")
    page = page_of(request, counted, JUDGES_A_PAGE)
    context = {"rows": _with_calibrations(page), "page": page, "shelf": shelf, "may_create": may_create(request.user)}
    return TemplateResponse(request, "judging/judge_runs/judges.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def judge_new(request: SignedIn) -> HttpResponse:
    """Render and process the form of a new judge. Raise PermissionDenied if the user may have none."""
    if not may_create(request.user):
        raise PermissionDenied
    form = JudgeForm(request.POST or None, person=request.user)
    return _save(request, form, None)


@require_http_methods(["GET", "HEAD", "POST"])
def judge_edit(request: SignedIn, pk: int) -> HttpResponse:
    """Render and process the form of an existing judge. Raise PermissionDenied if the user may not edit it."""
    judge = _own_judge(request, pk)
    form = JudgeForm(request.POST or None, person=request.user, instance=judge)
    return _save(request, form, judge)


@require_safe
def judge(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page of a judge."""
    return _page(request, _visible_judge(request, pk), GoldWorkForm(person=request.user))


@require_POST
def judge_change(request: SignedIn, pk: int) -> HttpResponse:
    """Process a button of the judge's page: `do` is calibrate, test, retire or bring-back. Raise Http404 for others."""
    judge, do = _own_judge(request, pk), request.POST.get("do", "")
    if do == "calibrate":
        return _calibrate(request, judge)
    if do == "test":
        result = run_trial(judge)
        (messages.success if result.has_succeeded else messages.error)(request, result.message)
        return redirect(judge)
    if do == "bring-back":
        return _bring_back(request, judge)
    if do != "retire":
        raise Http404(f"do must be one of calibrate, test, retire, bring-back, not {do!r}")
    retire(judge)
    messages.success(request, gettext("%(name)s has retired. Its verdicts stay.") % {"name": judge.name})
    return redirect(judge)


def _bring_back(request: SignedIn, judge: Judge) -> HttpResponse:
    try:
        unretire(judge)
    except CannotSaveJudge as error:
        messages.error(request, str(error))
    else:
        messages.success(request, gettext("Restored %(name)s.") % {"name": judge.name})
    return redirect(judge)


def _with_calibrations(page: Page[Any]) -> list[tuple[Judge, list[Calibration]]]:
    """Return each judge of the page with its newest calibration by each rubric."""
    newest = Calibration.objects.filter(judge__in=list(page)).order_by("judge_id", "rubric_id", "-at", "-pk")
    by_judge: dict[int, list[Calibration]] = {}
    for calibration in newest.distinct("judge_id", "rubric_id").select_related("rubric__criterion"):
        by_judge.setdefault(calibration.judge_id, []).append(calibration)
    return [(judge, by_judge.get(judge.pk, [])) for judge in page]


def _calibrate(request: SignedIn, judge: Judge) -> HttpResponse:
    form = GoldWorkForm(request.POST, person=request.user)
    if form.is_valid():
        options = {name: form.cleaned_data[name] for name in ("gold_set", "cap", "both_orders")}
        try:
            start(Assignment(judge=judge, created_by=request.user, **options), list(form.cleaned_data["rubrics"]))
        except CannotAsk as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, gettext("Started the calibration."))
            return redirect(judge)
    return _page(request, judge, form)


def _save(request: SignedIn, form: JudgeForm, judge: Judge | None) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            saved = create_judge(request.user, form.draft) if judge is None else change_judge(judge, form.draft)
        except CannotSaveJudge as error:
            form.add_error(error.field, str(error))
        else:
            messages.success(request, gettext("Saved %(name)s.") % {"name": saved.name})
            return redirect(saved)
    context = {"form": form, "judge": judge}
    return TemplateResponse(request, "judging/judge_runs/judge_edit.html", context, status=400 if form.errors else 200)


def _page(request: SignedIn, judge: Judge, form: GoldWorkForm) -> HttpResponse:
    gold = GoldSet.objects.visible_to(request.user)
    seen = Q(gold_set__in=gold) | Q(tournament__in=Tournament.objects.visible_to(request.user))
    rows = judge.assignments.filter(seen).select_related("judge", "tournament", "gold_set").order_by("-pk")
    assignment_page, calibrations = page_of(request, rows, ROWS_A_PAGE, "work"), _calibrations(request, judge)
    assignments = list(assignment_page)
    context: dict[str, Any] = {
        "judge": judge, "form": form, "may_ask": may_ask(request.user, judge) and judge.kind == Judge.Kind.OPENAI,
        "calibrations": _calibrations_table(calibrations, set(gold.values_list("pk", flat=True))),
        "calibration_page": calibrations,
        "repeats": _repeats_table(measure_repeats(judge, Tournament.objects.visible_to(request.user))),
        "assignments": list(zip(assignments, get_statuses(assignments), strict=True)),
        "assignment_page": assignment_page,
    }  # fmt: skip
    return TemplateResponse(request, "judging/judge_runs/judge.html", context, status=400 if form.errors else 200)


def _calibrations(request: SignedIn, judge: Judge) -> Page[Calibration]:
    rows = judge.calibrations.select_related("rubric__criterion", "gold_set").order_by("-at", "-pk")
    return page_of(request, rows, ROWS_A_PAGE, "calibrations")


def _calibrations_table(calibrations: Iterable[Calibration], visible_gold_sets: Collection[int]) -> Table:
    """Return a row for each calibration. Gold sets that are not visible have no name."""
    columns = (
        Column("criterion", gettext("Criterion"), str), Column("gold", gettext("Gold"), str),
        Column("result", gettext("Result"), str), Column("pairs", gettext("Pairs"), style=COUNTS),
        Column("accuracy", gettext("Accuracy"), Interval, COEFFICIENTS),
        Column("kappa", gettext("κ"), Interval, COEFFICIENTS),
        Column("swaps", gettext("Same in both orders"), style=COEFFICIENTS),
        Column("first", gettext("First position"), Interval, COEFFICIENTS),
        Column("ties", gettext("Ties, humans / judge")), Column("missing", gettext("No verdict")),
    )  # fmt: skip
    return Table(columns, tuple(
        (
            str(each.rubric),
            (each.gold_set.name if each.gold_set_id in visible_gold_sets else gettext("a private set"),
             Badge(ago(each.at))),
            _result(each), *_measured(each.measured),
        )
        for each in calibrations
    ))  # fmt: skip


def _repeats_table(consistencies: Iterable[RepeatConsistency]) -> Table:
    """Return a row for each criterion by which a judge was asked twice."""
    columns = (
        Column("criterion", gettext("Criterion"), str), Column("repeated", gettext("Repeated"), style=COUNTS),
        Column("judged", gettext("With two verdicts"), style=COUNTS),
        Column("alike", gettext("Same verdict"), Interval, COEFFICIENTS),
    )  # fmt: skip
    return Table(columns, tuple(
        (str(each.rubric), each.repeated, each.judged, estimate_cell(asdict(each.alike))) for each in consistencies
    ))  # fmt: skip


def _result(calibration: Calibration) -> tuple[Badge, ...]:
    result = Badge(gettext("passed"), "good", "✓") if calibration.passes else Badge(gettext("failed"), "bad", "✗")
    names = calibration.measured.get("complaints", [])
    complaints = "; ".join(gettext(COMPLAINTS[name]) for name in names if name in COMPLAINTS)
    return (result, Badge(complaints)) if complaints else (result,)


def _measured(measured: dict[str, Any]) -> tuple[Cell, ...]:
    accuracy, kappa, first = (
        estimate_cell(measured.get(key) or {"value": None}) for key in ("accuracy", "kappa", "slot_share")
    )
    ties = " / ".join(floatformat(measured.get("ties", {}).get(who), 2) for who in ("people", "judge"))
    missing = f"{measured.get('missing', '')} / {measured.get('calls', '')}"
    return measured.get("pairs"), accuracy, kappa, measured.get("swap_consistency"), first, ties, missing


def _visible_judge(request: SignedIn, pk: int) -> Judge:
    return get_object_or_404(Judge.objects.visible_to(request.user).select_related("owner", "key"), pk=pk)


def _own_judge(request: SignedIn, pk: int) -> Judge:
    judge = _visible_judge(request, pk)
    if not may_ask(request.user, judge) or judge.kind != Judge.Kind.OPENAI:
        raise PermissionDenied
    return judge
