"""API of model judges: list them, estimate their cost, and start, pause and stop them."""

from __future__ import annotations

from ninja.errors import HttpError

from judging.http import (
    get_assignment,
    get_gold_set,
    get_judge,
    get_rubric,
    judge_at,
    own_tournament,
    visible_assignments,
)
from judging.judge_runs.commands import CannotAsk, cancel, pause, resume, start
from judging.judge_runs.schemas import (
    AssignmentOut,
    ChangedAssignment,
    EstimateOut,
    JudgeDetail,
    JudgeOut,
    JudgesOut,
    NewAssignment,
    NewCalibration,
)
from judging.judge_runs.status import estimate
from judging.judges import may_ask, newest_rubrics, rules_judge
from judging.models import Assignment, Calibration, GoldSet, Judge, Rubric
from runs.http import ApiRequest, Caller, Id, Invalid, Limit, RowId, idempotent, needs, paginate, router
from workers.config import Problem

NEW = {"judge": 1, "criteria": ["helpfulness"], "cap": "2.50"}
CALIBRATION = {"gold_set": 1, "criteria": ["helpfulness"], "cap": "0.50"}
CHANGE = {"do": "pause"}
MAX_ROWS = 100
AGAIN = "again"


@router.get("/judges", response=JudgesOut, auth=needs("read"), tags=["judging"], summary="List judges")
def list_judges(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> JudgesOut:
    """Judges that you may see, newest first, with the rubrics by which their verdicts count on boards. Judges of
    imported files are not listed. Keys are never shown."""
    rules_judge()
    rows = Judge.objects.visible_to(request.auth.person).filter(retired_at=None).exclude(kind=Judge.Kind.IMPORTED)
    items, following = paginate(rows.select_related("owner"), cursor, limit)
    passing = _passing_rubrics(items)
    judges = [JudgeOut.from_row(judge, in_boards=passing.get(judge.pk, [])) for judge in items]
    return JudgesOut(items=judges, next=following)


@router.post(
    "/tournaments/{pk}/assignments",
    response={200: EstimateOut, 201: AssignmentOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Start a judge",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@idempotent
def assign_judge(request: ApiRequest, pk: RowId, new: NewAssignment) -> tuple[int, EstimateOut | AssignmentOut]:
    """Starts a judge on every pair of a tournament, in both orders, and never spends more than `cap`. Without a cap no
    question is sent, and the reply estimates the cost. Needs scope launch, and that the tournament and the judge are
    yours."""
    tournament, judge = (
        own_tournament(request.auth, pk),
        _check_may_ask(request.auth, get_judge(request.auth, new.judge)),
    )
    rubrics = [get_rubric(tournament, name) for name in dict.fromkeys(new.criteria)]
    rubrics = rubrics or list(tournament.rubrics.select_related("criterion"))
    options = new.dict(include={"cap", "both_orders", "asks_twice"})
    assignment = Assignment(judge=judge, tournament=tournament, created_by=request.auth.person, **options)
    if new.cap is None:
        return 200, EstimateOut.from_row(estimate(assignment, rubrics))
    return 201, _start(assignment, rubrics)


@router.post(
    "/judges/{pk}/calibrations",
    response={201: AssignmentOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Calibrate a judge",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CALIBRATION}}}},
)
@idempotent
def calibrate_judge(request: ApiRequest, pk: RowId, new: NewCalibration) -> tuple[int, AssignmentOut]:
    """Ask a judge about pairs with known verdicts, by the newest rubrics; its verdicts count on boards if it agrees
    well enough. Never spends more than `cap`. Needs scope launch, and that the judge is yours."""
    judge, gold = _check_may_ask(request.auth, judge_at(request.auth, pk)), get_gold_set(request.auth, new.gold_set)
    options = new.dict(include={"cap", "both_orders"})
    assignment = Assignment(judge=judge, gold_set=gold, created_by=request.auth.person, **options)
    return 201, _start(assignment, _gold_rubrics(request.auth, gold, new.criteria))


@router.get("/judges/{pk}", response=JudgeDetail, auth=needs("read"), tags=["judging"], summary="Read a judge")
def read_judge(request: ApiRequest, pk: RowId) -> JudgeDetail:
    """A judge, also a retired one or one of an imported file, with its newest 100 calibrations and assignments. No key
    is shown."""
    judge = judge_at(request.auth, pk)
    calibrations = judge.calibrations.select_related("rubric__criterion", "gold_set").order_by("-at", "-pk")
    seen = calibrations.filter(gold_set__in=GoldSet.objects.visible_to(request.auth.person))
    assignments = list(visible_assignments(request.auth).filter(judge=judge).order_by("-pk")[:MAX_ROWS])
    return JudgeDetail.from_row(
        judge, in_boards=_passing_rubrics([judge]).get(judge.pk, []), calibrations=seen[:MAX_ROWS],
        assignments=AssignmentOut.from_assignments(assignments),
    )  # fmt: skip


@router.get(
    "/assignments/{pk}", response=AssignmentOut, auth=needs("read"), tags=["judging"], summary="Read an assignment"
)
def read_assignment(request: ApiRequest, pk: RowId) -> AssignmentOut:
    """An assignment's progress, on a tournament or on gold, and its spending."""
    assignment = get_assignment(request.auth, pk)
    return AssignmentOut.from_assignment(assignment)


@router.patch(
    "/assignments/{pk}",
    response=AssignmentOut,
    auth=needs("launch"),
    tags=["judging"],
    summary="Pause, cancel or resume an assignment",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_assignment(request: ApiRequest, pk: RowId, new: ChangedAssignment) -> AssignmentOut:
    """Pauses an assignment, cancels it for good, or resumes it, with another cap if one is given. Verdicts stay. Needs
    scope launch, and that the judge is yours."""
    assignment = get_assignment(request.auth, pk)
    if not may_ask(request.auth.person, assignment.judge):
        raise HttpError(403, "Only the owner of a judge can change what it does")
    try:
        _apply_change(assignment, new)
    except CannotAsk as error:
        raise HttpError(409, str(error)) from error
    assignment.refresh_from_db()
    return AssignmentOut.from_assignment(assignment)


def _check_may_ask(caller: Caller, judge: Judge) -> Judge:
    if not may_ask(caller.person, judge):
        raise HttpError(403, f"Judge {judge.pk} belongs to another user, who would pay for it: use one of your own")
    return judge


def _start(assignment: Assignment, rubrics: list[Rubric]) -> AssignmentOut:
    try:
        start(assignment, rubrics)
    except CannotAsk as error:
        raise HttpError(409, str(error)) from error
    return AssignmentOut.from_assignment(assignment)


def _gold_rubrics(caller: Caller, gold: GoldSet, slugs: list[str]) -> list[Rubric]:
    """Return the newest rubrics of these criteria, which the gold set must have verdicts for; of all its criteria if
    none is named."""
    gold_slugs = {slug for expected in gold.pairs.values_list("expected", flat=True) for slug in expected}
    rubrics = {
        rubric.criterion.slug: rubric for rubric in newest_rubrics(caller.person) if rubric.criterion.slug in gold_slugs
    }
    if unknown := [slug for slug in slugs if slug not in rubrics]:
        raise Invalid(Problem("criteria", f"must be of {', '.join(rubrics) or 'none'}, not {', '.join(unknown)}"))
    return [rubrics[slug] for slug in dict.fromkeys(slugs or rubrics)]


def _apply_change(assignment: Assignment, new: ChangedAssignment) -> None:
    if new.do == "pause":
        pause(assignment)
    elif new.do == "cancel":
        cancel(assignment)
    else:
        resume(assignment, new.cap, again=new.do == AGAIN)


def _passing_rubrics(judges: list[Judge]) -> dict[int, list[str]]:
    """Return judge -> rubrics by which its newest calibration passes."""
    rows = Calibration.objects.filter(judge__in=judges).order_by("judge_id", "rubric_id", "-at", "-pk")
    rubrics_by_judge: dict[int, list[str]] = {}
    for calibration in rows.distinct("judge_id", "rubric_id").select_related("rubric__criterion"):
        if calibration.passes:
            rubrics_by_judge.setdefault(calibration.judge_id, []).append(str(calibration.rubric))
    return rubrics_by_judge
