"""Saved views: pages as somebody left them, under a name."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.http import Http404
from ninja.errors import HttpError

from runs.experiments.saved_views.schemas import ChangedView, NewView, ViewOut, ViewsOut
from runs.http import (
    CHANGES,
    ApiRequest,
    Id,
    RowId,
    check_version,
    needs,
    once,
    require_experiment_and_sweep,
    router,
    the_experiment,
)
from runs.models import SavedView

NEW = {"name": "Best first", "page": "experiment", "experiment": 1, "query": "sort=-reward", "is_shared": True}
CHANGE = {"name": "Cheapest first", "query": "sort=seconds"}


@router.get("/views", response=ViewsOut, auth=needs("read"), tags=["views"], summary="List saved views")
def list_views(request: ApiRequest, experiment: Id = None) -> ViewsOut:
    """Your saved views and those that others share, by name; of one experiment where asked."""
    require_experiment_and_sweep(request.auth, experiment)
    views = SavedView.objects.visible_to(request.auth.person).select_related("owner").order_by("name", "pk")
    views = views.filter(experiment=experiment) if experiment is not None else views
    return ViewsOut(items=[ViewOut.of(view) for view in views])


@router.post(
    "/views",
    response={201: ViewOut},
    auth=needs("launch"),
    tags=["views"],
    summary="Save a view",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@once
def make_view(request: ApiRequest, new: NewView) -> tuple[int, ViewOut]:
    """Saves a page under a name of yours. Needs scope launch. A name that you have given already is answered 409."""
    given = new.dict()
    if (asked := given.pop("experiment")) is not None:
        given["experiment"] = the_experiment(request.auth, asked)
    view = SavedView(owner=request.auth.person, **given)
    _save(view)
    return 201, ViewOut.of(view)


@router.get("/views/{pk}", response=ViewOut, auth=needs("read"), tags=["views"], summary="Read a saved view")
def read_view(request: ApiRequest, pk: RowId) -> ViewOut:
    """One saved view. Its `url` is the page."""
    view = SavedView.objects.visible_to(request.auth.person).select_related("owner").filter(pk=pk).first()
    if view is None:
        raise Http404(f"There is no view {pk} that you may see")
    return ViewOut.of(view)


@router.patch(
    "/views/{pk}",
    response=ViewOut,
    auth=needs("launch"),
    tags=["views"],
    summary="Change a saved view",
    openapi_extra=CHANGES | {"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_view(request: ApiRequest, pk: RowId, new: ChangedView) -> ViewOut:
    """Renames it, points it elsewhere on its page, shares it. Needs scope launch, and that it is yours."""
    with transaction.atomic():
        view = _mine(request, pk)
        for name, value in new.dict().items():
            if value is not None:
                setattr(view, name, value)
        _save(view)
    return ViewOut.of(view)


@router.delete(
    "/views/{pk}",
    response={204: None},
    auth=needs("launch"),
    tags=["views"],
    summary="Delete a saved view",
    openapi_extra=CHANGES,
)
def delete_view(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Forgets a view; what it shows stays. Needs scope launch, and that it is yours."""
    with transaction.atomic():
        _mine(request, pk).delete()
    return 204, None


def _mine(request: ApiRequest, pk: int) -> SavedView:
    """One's own view, locked, in the version that was asked for. Raises Http404, HttpError."""
    mine = SavedView.objects.visible_to(request.auth.person).filter(owner=request.auth.person)
    view = mine.select_related("owner").select_for_update(of=("self",)).filter(pk=pk).first()
    if view is None:
        raise Http404(f"You have no view {pk}")
    check_version(request, ViewOut.of(view))
    return view


def _save(view: SavedView) -> None:
    """Raises HttpError where another view of its owner has the name."""
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise HttpError(409, f"You have a view named {view.name!r} already: change it, or take another name") from error
