"""API of costs and limits."""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Caller, Invalid, RowId, get_experiment, idempotent, needs, router
from runs.launching.budgets.hours import shares, total
from runs.launching.budgets.limits import period_start, set_limit, use_of, uses
from runs.launching.budgets.schemas import CostsOut, HoursOut, LimitOut, LimitsOut, NewLimit, ShareOut
from runs.models import Experiment, Limit, Run
from workers.config import Problem

EXAMPLE = {"person": "ada", "kind": "gpu", "hours": 100, "period": "month"}
Key = Literal["person", "experiment", "sweep", "cluster"]


@router.get("/costs", response=CostsOut, auth=needs("read"), tags=["costs"], summary="Read costs")
def read_costs(request: ApiRequest, by: Key = "person", since: Literal["month", "all"] = "month") -> CostsOut:
    """List the GPU-hours, and CPU-hours of runs without a GPU, of all runs that you may see, most expensive first, 500
    at most. Hours are counted from each attempt's start to its end or to now, this calendar month (UTC) or in all."""
    groups = shares(Run.objects.visible_to(request.auth.person), by, period_start(since))
    whole = HoursOut.from_row(total(share.hours for share in groups))
    return CostsOut(by=by, since=since, items=[ShareOut.from_row(share) for share in groups], total=whole)


@router.get("/limits", response=LimitsOut, auth=needs("read"), tags=["costs"], summary="List limits")
def list_limits(request: ApiRequest) -> LimitsOut:
    """List your limits and those of experiments that you may see, with the used hours of each; admins see all limits.
    `promised` are the estimated remaining hours of runs that have not ended."""
    return LimitsOut(items=[LimitOut.from_use(use) for use in uses(_visible(request.auth))])


@router.post(
    "/limits",
    response=LimitOut,
    auth=needs("admin"),
    tags=["costs"],
    summary="Set a limit",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@idempotent
def make_limit(request: ApiRequest, new: NewLimit) -> LimitOut:
    """Set the hours of a user or an experiment; an existing limit of that kind and period is changed. A launch that
    exceeds the limit is refused; running runs continue. Needs scope admin, and to be an admin."""
    _check_admin(request.auth)
    limit = set_limit(
        kind=new.kind, period=new.period, hours=new.hours,
        person=None if new.person is None else _person(new.person),
        experiment=None if new.experiment is None else get_experiment(request.auth, new.experiment),
    )  # fmt: skip
    access.note(request.auth.person, limit, f"Set: {limit}")
    return LimitOut.from_use(use_of(limit))


@router.delete("/limits/{pk}", response={204: None}, auth=needs("admin"), tags=["costs"], summary="Remove a limit")
def remove_limit(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Remove a limit. Needs scope admin, and to be an admin."""
    _check_admin(request.auth)
    limit = Limit.objects.filter(pk=pk).first()
    if limit is None:
        raise Http404(f"There is no limit {pk}")
    access.note(request.auth.person, limit, f"Removed: {limit}")
    limit.delete()
    return 204, None


def _visible(caller: Caller) -> QuerySet[Limit]:
    limits = Limit.objects.select_related("person", "experiment").order_by("pk")
    if access.may_manage_users(caller.person):
        return limits
    return limits.filter(Q(person=caller.person) | Q(experiment__in=Experiment.objects.visible_to(caller.person)))


def _person(name: str) -> User:
    person = User.objects.filter(username=name).first()
    if person is None:
        raise Invalid(Problem("person", f"unknown user {name!r}"))
    return person


def _check_admin(caller: Caller) -> None:
    if not access.may_manage_users(caller.person):
        raise HttpError(403, "Only admins may set limits")
