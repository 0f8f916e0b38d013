"""What runs cost, and the limits on that."""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Caller, Invalid, RowId, needs, once, router, the_experiment
from runs.launching.budgets.hours import shares, total
from runs.launching.budgets.limits import set_limit, since_of, use_of, uses
from runs.launching.budgets.schemas import CostsOut, HoursOut, LimitOut, LimitsOut, NewLimit, ShareOut
from runs.models import Experiment, Limit, Run
from workers.config import Problem

EXAMPLE = {"person": "ada", "kind": "gpu", "hours": 100, "period": "month"}
Key = Literal["person", "experiment", "sweep", "cluster"]


@router.get("/costs", response=CostsOut, auth=needs("read"), tags=["costs"], summary="Read costs")
def read_costs(request: ApiRequest, by: Key = "person", since: Literal["month", "all"] = "month") -> CostsOut:
    """GPU-hours, and CPU-hours of runs without a GPU, of all runs that you may see: the dearest first, 500 at most.
    Counted from the start of each attempt to its end or to now, this calendar month (UTC) or in all."""
    found = shares(Run.objects.visible_to(request.auth.person), by, since_of(since))
    rows = [ShareOut(id=s.key, name=s.name, hours=HoursOut.of(s.hours), runs=s.runs) for s in found]
    return CostsOut(by=by, since=since, items=rows, total=HoursOut.of(total(s.hours for s in found)))


@router.get("/limits", response=LimitsOut, auth=needs("read"), tags=["costs"], summary="List limits")
def list_limits(request: ApiRequest) -> LimitsOut:
    """Your limits and those of experiments that you may see, with what is used of each; all of them for admins. What
    runs that have not ended are still estimated to take counts as `promised`."""
    return LimitsOut(items=[LimitOut.of(use) for use in uses(_visible(request.auth))])


@router.post(
    "/limits",
    response=LimitOut,
    auth=needs("admin"),
    tags=["costs"],
    summary="Set a limit",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@once
def make_limit(request: ApiRequest, new: NewLimit) -> LimitOut:
    """Sets the hours that a person, or an experiment, may have; changes the limit of that kind and period where there
    is one. A launch beyond it is refused; what runs goes on. Needs scope admin, and to be an admin."""
    _check_admin(request.auth)
    limit = set_limit(
        kind=new.kind, period=new.period, hours=new.hours,
        person=None if new.person is None else _person(new.person),
        experiment=None if new.experiment is None else the_experiment(request.auth, new.experiment),
    )  # fmt: skip
    access.note(request.auth.person, limit, f"Set: {limit}")
    return LimitOut.of(use_of(limit))


@router.delete("/limits/{pk}", response={204: None}, auth=needs("admin"), tags=["costs"], summary="Remove a limit")
def remove_limit(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Takes a limit away. Needs scope admin, and to be an admin."""
    _check_admin(request.auth)
    limit = Limit.objects.filter(pk=pk).first()
    if limit is None:
        raise Http404(f"There is no limit {pk}")
    access.note(request.auth.person, limit, f"Removed: {limit}")
    limit.delete()
    return 204, None


def _visible(caller: Caller) -> QuerySet[Limit]:
    every = Limit.objects.select_related("person", "experiment").order_by("pk")
    if access.may_manage_people(caller.person):
        return every
    return every.filter(Q(person=caller.person) | Q(experiment__in=Experiment.objects.visible_to(caller.person)))


def _person(name: str) -> User:
    person = User.objects.filter(username=name).first()
    if person is None:
        raise Invalid(Problem("person", f"there is nobody of the name {name!r}"))
    return person


def _check_admin(caller: Caller) -> None:
    if not access.may_manage_people(caller.person):
        raise HttpError(403, "Only admins set limits")
