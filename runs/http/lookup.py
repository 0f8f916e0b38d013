"""Look up the objects that an address names among those visible to the caller. All others are 404, not 403: they do not
exist for the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from ninja import P, PathEx, QueryEx
from ninja.errors import HttpError
from pydantic import Field

from runs import access
from runs.access import may_manage_clusters
from runs.http.auth import Caller
from runs.http.fields import NO_NUL
from runs.http.parameters import SignedIn, UnknownChoice, whole_number
from runs.models import Attempt, Experiment, Run, Sweep
from runs.models.experiment import RunQuerySet

RowT = TypeVar("RowT", bound=Experiment | Run)
EXAMPLE_UID = "k3m9x2p7qa"
Uid: TypeAlias = PathEx[str, P(pattern=r"^[2-9a-z]{10}$", example=EXAMPLE_UID)]
Key: TypeAlias = PathEx[str, P(pattern=r"^[a-z0-9-]{1,60}$", example=f"esweb-{EXAMPLE_UID}-a1")]
RowId: TypeAlias = PathEx[int, P(ge=0, le=2**63 - 1, example=1)]
Step: TypeAlias = PathEx[int, P(ge=0, le=2**63 - 1, example=5)]
Limit: TypeAlias = QueryEx[int, P(ge=1, le=500, description="rows per page")]
Id: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)] | None
Int: TypeAlias = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Words: TypeAlias = QueryEx[
    str, P(max_length=250, pattern=NO_NUL, description="words that it contains", example="Concise")
]
Shelf: TypeAlias = QueryEx[
    Literal["current", "archived", "bin"],
    P(description="archived: hidden from lists; bin: in the trash, can be restored"),
]


def on_shelf(rows: QuerySet[RowT], shelf: str) -> QuerySet[RowT]:
    """Return the rows on that shelf: current, archived or bin (the trash)."""
    if shelf == "bin":
        return rows.filter(deleted_at__isnull=False)
    return rows.filter(deleted_at__isnull=True, archived_at__isnull=shelf == "current")


def get_run(caller: Caller, uid: str, queryset: RunQuerySet | None = None) -> Run:
    """Return the run, its experiment, creator and origin loaded, and its parent if the caller may see it. Raise
    Http404."""
    runs = Run.objects.visible_to(caller.person) if queryset is None else queryset
    runs = runs.select_related("experiment__owner", "created_by", "source", "external")
    runs = runs.with_visible_parent(caller.person)
    run = runs.filter(uid=uid).first()
    if run is None:
        raise Http404(f"There is no run {uid} that you may see")
    return run


def get_runs(caller: Caller, uids: Sequence[str]) -> list[Run]:
    """Return runs in the order of the uids. Raise Http404 that names the missing ones."""
    runs_by_uid = {run.uid: run for run in Run.objects.visible_to(caller.person).filter(uid__in=uids)}
    missing = [uid for uid in uids if uid not in runs_by_uid]
    if missing:
        raise Http404(f"There is no run {', '.join(missing)} that you may see")
    return [runs_by_uid[uid] for uid in dict.fromkeys(uids)]


def get_experiment(caller: Caller, pk: int, queryset: QuerySet[Experiment] | None = None) -> Experiment:
    """Return the experiment, its owner loaded. Raise Http404."""
    experiments = Experiment.objects.visible_to(caller.person) if queryset is None else queryset
    experiment = experiments.select_related("owner").filter(pk=pk).first()
    if experiment is None:
        raise Http404(f"There is no experiment {pk} that you may see")
    return experiment


def require_experiment_and_sweep(caller: Caller, experiment: int | None, sweep: int | None = None) -> None:
    """Raise Http404 for an experiment or a sweep that the caller may not see, including deleted ones."""
    if experiment is not None:
        get_experiment(caller, experiment, Experiment.objects.permitted_to(caller.person))
    if sweep is not None and not Sweep.objects.visible_to(caller.person).filter(pk=sweep).exists():
        raise Http404(f"There is no sweep {sweep} that you may see")


def check_owner(caller: Caller, experiment: Experiment) -> None:
    """Raise HttpError if the caller may not change the experiment."""
    if not access.may_change(caller.person, experiment):
        owner = experiment.owner.get_username()
        raise HttpError(403, f"Experiment {experiment.pk} belongs to {owner}; use one of your own")


def get_attempt(caller: Caller, key: str) -> Attempt:
    """Return an attempt to write to: for an ingest token of its own run, else of a run that the user may change.

    Raise Http404.
    """
    attempts = Attempt.objects.filter(run__in=Run.objects.visible_to(caller.person), key=key)
    if _is_bound(caller):
        # Pushes arrive all day long, so no more is read than they need.
        own = attempts.filter(run=caller.token.run_id).select_related("run")  # type: ignore[union-attr]
        attempt = own.only("key", "n", "run__uid").first()
    else:
        attempt = attempts.select_related("run__experiment").first()
    if attempt is None or not (_is_bound(caller) or access.may_change_run(caller.person, attempt.run)):
        raise Http404(f"There is no attempt {key} that you may write to")
    return attempt


def _is_bound(caller: Caller) -> bool:
    return caller.token is not None and caller.token.run_id is not None


def require_admin(request: SignedIn) -> None:
    """Raise PermissionDenied if the user may not manage clusters."""
    if not may_manage_clusters(request.user):
        raise PermissionDenied


def visible_experiment(request: SignedIn, pk: int) -> Experiment:
    """Return the experiment, its owner loaded. Raise Http404."""
    return get_object_or_404(Experiment.objects.visible_to(request.user).select_related("owner"), pk=pk)


def named_experiment(request: HttpRequest, number: str) -> Experiment | None:
    """Return the experiment that a parameter names; None if it is empty. Raise UnknownChoice."""
    if not number:
        return None
    pk, visible = whole_number(number), Experiment.objects.visible_to(request.user)
    if pk is None or (experiment := visible.filter(pk=pk).first()) is None:
        message = gettext("experiment must be the number of an experiment that you may see, not %(value)r.")
        raise UnknownChoice(message % {"value": number[:100]})
    return experiment


def visible_run(request: SignedIn, uid: str) -> Run:
    """Return the run with its experiment, creator, source and sweep loaded, and its parent if the user may see it.

    Raise Http404."""
    runs = Run.objects.visible_to(request.user).select_related(
        "experiment", "created_by", "source", "external", "sweep"
    )
    return get_object_or_404(runs.with_visible_parent(request.user), uid=uid)


Row = TypeVar("Row", bound=Model)


def paginate(
    rows: QuerySet[Row], cursor: int | None, limit: int, *, newest_first: bool = True
) -> tuple[list[Row], int | None]:
    """Return the rows after the cursor, by primary key, and the cursor of the next page; None if this is the last."""
    if cursor is not None:
        rows = rows.filter(**{"pk__lt" if newest_first else "pk__gt": cursor})
    items = list(rows.order_by("-pk" if newest_first else "pk")[: limit + 1])
    return items[:limit], items[limit - 1].pk if len(items) > limit else None
