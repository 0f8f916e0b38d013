"""Model judges over the API: which there are, what they would cost, put to work, paused and stopped."""

from __future__ import annotations

from ninja.errors import HttpError

from judging import asking
from judging.api.seeing import own_tournament, the_assignment, the_judge, the_rubric
from judging.api.shapes import (
    AssignmentOut,
    ChangedAssignment,
    EstimateOut,
    JudgeOut,
    JudgesOut,
    NewAssignment,
)
from judging.judges import may_ask, rules_judge
from judging.models import Assignment, Calibration, Judge
from runs.api.auth import ApiRequest, needs
from runs.api.paging import page
from runs.api.repeating import once
from runs.api.routes import router
from runs.api.seeing import Id, Limit, RowId

NEW = {"judge": 1, "criteria": ["helpfulness"], "cap": "2.50"}
CHANGE = {"do": "pause"}
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
    found, judge = own_tournament(request.auth, pk), the_judge(request.auth, new.judge)
    if not may_ask(request.auth.person, judge):
        raise HttpError(403, f"Judge {judge.pk} is another's, who would pay for it: take one of your own")
    rubrics = [the_rubric(found, name) for name in dict.fromkeys(new.criteria)]
    rubrics = rubrics or list(found.rubrics.select_related("criterion"))
    if new.cap is None:
        return 200, EstimateOut.of(asking.estimate(judge, found, rubrics, both_orders=new.both_orders))
    order = asking.Order(judge, rubrics, new.cap, found, both_orders=new.both_orders)
    try:
        made = asking.start(order, request.auth.person)
    except asking.CannotAsk as error:
        raise HttpError(409, str(error)) from error
    return 201, AssignmentOut.of(made, asking.standing(made))


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
    except asking.CannotAsk as error:
        raise HttpError(409, str(error)) from error
    found.refresh_from_db()
    return AssignmentOut.of(found, asking.standing(found))


def _do(found: Assignment, new: ChangedAssignment) -> None:
    if new.do == "pause":
        asking.pause(found)
    elif new.do == "cancel":
        asking.cancel(found)
    else:
        asking.go_on(found, new.cap, again=new.do == AGAIN)


def _passed(judges: list[Judge]) -> dict[int, list[str]]:
    """judge -> rubrics by which its newest calibration passes."""
    rows = Calibration.objects.filter(judge__in=judges).order_by("judge_id", "rubric_id", "-at", "-pk")
    found: dict[int, list[str]] = {}
    for one in rows.distinct("judge_id", "rubric_id").select_related("rubric__criterion"):
        if one.passes:
            found.setdefault(one.judge_id, []).append(str(one.rubric))
    return found
