"""Model judges over the API: which there are, what they would cost, put to work, paused and stopped."""

from __future__ import annotations

from ninja.errors import HttpError

from judging.http import judge_at, own_tournament, the_assignment, the_assignments, the_gold_set, the_judge, the_rubric
from judging.judge_runs.commands import CannotAsk, Order, cancel, go_on, pause, start
from judging.judge_runs.schemas import (
    AssignmentOut,
    CalibrationOut,
    ChangedAssignment,
    EstimateOut,
    JudgeDetail,
    JudgeOut,
    JudgesOut,
    NewAssignment,
    NewCalibration,
)
from judging.judge_runs.status import estimate, standing, standings
from judging.judges import may_ask, newest_rubrics, rules_judge
from judging.models import Assignment, Calibration, GoldSet, Judge, Rubric
from runs.http import ApiRequest, Caller, Id, Invalid, Limit, RowId, needs, once, page, router
from workers.config import Problem

NEW = {"judge": 1, "criteria": ["helpfulness"], "cap": "2.50"}
CALIBRATION = {"gold_set": 1, "criteria": ["helpfulness"], "cap": "0.50"}
CHANGE = {"do": "pause"}
SHOWN = 100
AGAIN = "again"


@router.get("/judges", response=JudgesOut, auth=needs("read"), tags=["judging"], summary="List judges")
def list_judges(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> JudgesOut:
    """Judges that you may see, newest first, with the rubrics by which their verdicts enter boards. Judges of imported
    files stand with their verdicts alone. Keys are never shown."""
    rules_judge()
    rows = Judge.objects.visible_to(request.auth.person).filter(retired_at=None).exclude(kind=Judge.Kind.IMPORTED)
    items, following = page(rows.select_related("owner"), cursor, limit)
    passed = _passed(items)
    return JudgesOut(items=[JudgeOut.of(one, passed.get(one.pk, [])) for one in items], next=following)


@router.post(
    "/tournaments/{pk}/assignments",
    response={200: EstimateOut, 201: AssignmentOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Put a judge to work",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@once
def assign_judge(request: ApiRequest, pk: RowId, new: NewAssignment) -> tuple[int, EstimateOut | AssignmentOut]:
    """Has a judge say of every pair which answer is better, both ways round, and never spends more than `cap`. Without
    a cap nothing is asked, and the answer says what it would cost. Needs scope launch, and that the tournament and the
    judge are yours."""
    found, judge = own_tournament(request.auth, pk), _askable(request.auth, the_judge(request.auth, new.judge))
    rubrics = [the_rubric(found, name) for name in dict.fromkeys(new.criteria)]
    rubrics = rubrics or list(found.rubrics.select_related("criterion"))
    if new.cap is None:
        how = new.dict(include={"both_orders", "asks_twice"})
        return 200, EstimateOut.of(estimate(judge, found, rubrics, **how))
    order = Order(
        judge, rubrics, new.cap, found, both_orders=new.both_orders, asks_twice=new.asks_twice
    )  # fmt: skip
    return 201, _started(request.auth, order)


@router.post(
    "/judges/{pk}/calibrations",
    response={201: AssignmentOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Calibrate a judge",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CALIBRATION}}}},
)
@once
def calibrate_judge(request: ApiRequest, pk: RowId, new: NewCalibration) -> tuple[int, AssignmentOut]:
    """Asks a judge what people have judged already, by the newest rubrics; its verdicts enter boards where it agrees
    well enough. Never spends more than `cap`. Needs scope launch, and that the judge is yours."""
    judge, gold = _askable(request.auth, judge_at(request.auth, pk)), the_gold_set(request.auth, new.gold_set)
    order = Order(
        judge, _told_of(request.auth, gold, new.criteria), new.cap, gold_set=gold, both_orders=new.both_orders
    )  # fmt: skip
    return 201, _started(request.auth, order)


@router.get("/judges/{pk}", response=JudgeDetail, auth=needs("read"), tags=["judging"], summary="Read a judge")
def read_judge(request: ApiRequest, pk: RowId) -> JudgeDetail:
    """A judge, retired ones and those of imported files too, with its newest 100 calibrations and what it is put to. No
    key is shown."""
    found = judge_at(request.auth, pk)
    measured = found.calibrations.select_related("rubric__criterion", "gold_set").order_by("-at", "-pk")
    seen = measured.filter(gold_set__in=GoldSet.objects.visible_to(request.auth.person))
    at_work = list(the_assignments(request.auth).filter(judge=found).order_by("-pk")[:SHOWN])
    out = JudgeOut.of(found, _passed([found]).get(found.pk, []))
    return JudgeDetail(
        **out.dict(), calibrations=[CalibrationOut.of(one) for one in seen[:SHOWN]],
        assignments=[AssignmentOut.of(*one) for one in zip(at_work, standings(at_work), strict=True)],
    )  # fmt: skip


@router.get(
    "/assignments/{pk}", response=AssignmentOut, auth=needs("read"), tags=["judging"], summary="Read an assignment"
)
def read_assignment(request: ApiRequest, pk: RowId) -> AssignmentOut:
    """How far a judge is, on a tournament or on gold, and what it has spent."""
    found = the_assignment(request.auth, pk)
    return AssignmentOut.of(found, standing(found))


@router.patch(
    "/assignments/{pk}",
    response=AssignmentOut,
    auth=needs("launch"),
    tags=["judging"],
    summary="Pause, stop or go on with a judge",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_assignment(request: ApiRequest, pk: RowId, new: ChangedAssignment) -> AssignmentOut:
    """Pauses it, cancels it for good, or lets it go on, with another cap where one is given. What was said stays.
    Needs scope launch, and that the judge is yours."""
    found = the_assignment(request.auth, pk)
    if not may_ask(request.auth.person, found.judge):
        raise HttpError(403, "Only who owns a judge says what it does")
    try:
        _do(found, new)
    except CannotAsk as error:
        raise HttpError(409, str(error)) from error
    found.refresh_from_db()
    return AssignmentOut.of(found, standing(found))


def _askable(caller: Caller, judge: Judge) -> Judge:
    if not may_ask(caller.person, judge):
        raise HttpError(403, f"Judge {judge.pk} is another's, who would pay for it: take one of your own")
    return judge


def _started(caller: Caller, order: Order) -> AssignmentOut:
    try:
        made = start(order, caller.person)
    except CannotAsk as error:
        raise HttpError(409, str(error)) from error
    return AssignmentOut.of(made, standing(made))


def _told_of(caller: Caller, gold: GoldSet, slugs: list[str]) -> list[Rubric]:
    """The newest rubrics of these criteria, which must be among those that the gold set tells of; of all of them."""
    known = {slug for expected in gold.pairs.values_list("expected", flat=True) for slug in expected}
    rubrics = {one.criterion.slug: one for one in newest_rubrics(caller.person) if one.criterion.slug in known}
    if unknown := [slug for slug in slugs if slug not in rubrics]:
        raise Invalid(Problem("criteria", f"must be of {', '.join(rubrics) or 'none'}, not {', '.join(unknown)}"))
    return [rubrics[slug] for slug in dict.fromkeys(slugs or rubrics)]


def _do(found: Assignment, new: ChangedAssignment) -> None:
    if new.do == "pause":
        pause(found)
    elif new.do == "cancel":
        cancel(found)
    else:
        go_on(found, new.cap, again=new.do == AGAIN)


def _passed(judges: list[Judge]) -> dict[int, list[str]]:
    """judge -> rubrics by which its newest calibration passes."""
    rows = Calibration.objects.filter(judge__in=judges).order_by("judge_id", "rubric_id", "-at", "-pk")
    found: dict[int, list[str]] = {}
    for one in rows.distinct("judge_id", "rubric_id").select_related("rubric__criterion"):
        if one.passes:
            found.setdefault(one.judge_id, []).append(str(one.rubric))
    return found
