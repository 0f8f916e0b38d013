"""API of saved views: pages with their settings under a name."""

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
    get_experiment,
    idempotent,
    needs,
    require_experiment_and_sweep,
    router,
)
from runs.models import SavedView

NEW = {"name": "Best first", "page": "experiment", "experiment": 1, "query": "sort=-reward", "is_shared": True}
CHANGE = {"name": "Cheapest first", "query": "sort=seconds"}


@router.get("/views", response=ViewsOut, auth=needs("read"), tags=["views"], summary="List saved views")
def list_views(request: ApiRequest, experiment: Id = None) -> ViewsOut:
    """List your saved views and shared ones, by name; only those of one experiment if `experiment` is given."""
    require_experiment_and_sweep(request.auth, experiment)
    views = SavedView.objects.visible_to(request.auth.person).select_related("owner").order_by("name", "pk")
    views = views.filter(experiment=experiment) if experiment is not None else views
    return ViewsOut(items=[ViewOut.from_row(view) for view in views])


@router.post(
    "/views",
    response={201: ViewOut},
    auth=needs("launch"),
    tags=["views"],
    summary="Save a view",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@idempotent
def make_view(request: ApiRequest, new: NewView) -> tuple[int, ViewOut]:
    """Save a page under a name. Needs scope launch. The reply is 409 if you already have a view of this name."""
    values = new.dict()
    if (experiment_id := values.pop("experiment")) is not None:
        values["experiment"] = get_experiment(request.auth, experiment_id)
    view = SavedView(owner=request.auth.person, **values)
    _save(view)
    return 201, ViewOut.from_row(view)


@router.get("/views/{pk}", response=ViewOut, auth=needs("read"), tags=["views"], summary="Read a saved view")
def read_view(request: ApiRequest, pk: RowId) -> ViewOut:
    """Return a saved view. Its `url` is the page."""
    view = SavedView.objects.visible_to(request.auth.person).select_related("owner").filter(pk=pk).first()
    if view is None:
        raise Http404(f"There is no view {pk} that you may see")
    return ViewOut.from_row(view)


@router.patch(
    "/views/{pk}",
    response=ViewOut,
    auth=needs("launch"),
    tags=["views"],
    summary="Change a saved view",
    openapi_extra=CHANGES | {"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_view(request: ApiRequest, pk: RowId, new: ChangedView) -> ViewOut:
    """Rename a view, change its query, or share it. Needs scope launch, and that the view is yours."""
    with transaction.atomic():
        view = _lock_own_view(request, pk)
        for name, value in new.dict().items():
            if value is not None:
                setattr(view, name, value)
        _save(view)
    return ViewOut.from_row(view)


@router.delete(
    "/views/{pk}",
    response={204: None},
    auth=needs("launch"),
    tags=["views"],
    summary="Delete a saved view",
    openapi_extra=CHANGES,
)
def delete_view(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Delete a view. The page that it shows stays. Needs scope launch, and that the view is yours."""
    with transaction.atomic():
        _lock_own_view(request, pk).delete()
    return 204, None


def _lock_own_view(request: ApiRequest, pk: int) -> SavedView:
    """Lock and return a view of the caller's own. Raise Http404 if there is none, HttpError if the request names
    another version."""
    own_views = SavedView.objects.visible_to(request.auth.person).filter(owner=request.auth.person)
    view = own_views.select_related("owner").select_for_update(of=("self",)).filter(pk=pk).first()
    if view is None:
        raise Http404(f"You have no view {pk}")
    check_version(request, ViewOut.from_row(view))
    return view


def _save(view: SavedView) -> None:
    """Save the view. Raise HttpError 409 if another view of its owner has the name."""
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise HttpError(409, f"You already have a view named {view.name!r}: change it or use another name") from error
