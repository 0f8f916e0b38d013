"""API that edits a run: rename, tag, annotate, archive, delete and restore it."""

from __future__ import annotations

from django.db import transaction
from ninja.errors import HttpError

from runs import access
from runs.experiments import trash
from runs.experiments.audit_log import change
from runs.http import CHANGES, ApiRequest, Uid, check_version, get_run, needs, router
from runs.launching import ChangedRun, RunDetail, run_detail
from runs.models import Run
from runs.models.experiment import RunQuerySet

CHANGE = {"tags": ["baseline"], "note": "The **reference** for all that follow."}


@router.patch(
    "/runs/{uid}",
    response=RunDetail,
    auth=needs("launch"),
    tags=["runs"],
    summary="Change a run",
    openapi_extra=CHANGES | {"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_run(request: ApiRequest, uid: Uid, new: ChangedRun) -> RunDetail:
    """Rename, tag, annotate or archive a run. Its config stays as launched. Needs scope launch, and that you
    created the run or own its experiment.
    """
    with transaction.atomic():
        run = _lock_run(request, Run.objects.visible_to(request.auth.person), uid)
        values = {name: value for name, value in new.dict().items() if value is not None}
        if (archived := values.pop("archived", None)) is not None:
            trash.archive(run, request.auth.person) if archived else trash.unarchive(run)
        change(run, request.auth.person, values)
    return run_detail(run)


@router.delete(
    "/runs/{uid}",
    response={204: None},
    auth=needs("launch"),
    tags=["runs"],
    summary="Delete a run",
    openapi_extra=CHANGES,
)
def delete_run(request: ApiRequest, uid: Uid) -> tuple[int, None]:
    """Move a run to the trash, from which it can be restored for 30 days. Cancel the run if it has not finished.
    Needs scope launch, and that you created the run or own its experiment."""
    with transaction.atomic():
        trash.delete_run(_lock_run(request, Run.objects.visible_to(request.auth.person), uid), request.auth.person)
    return 204, None


@router.post("/runs/{uid}/restore", response=RunDetail, auth=needs("launch"), tags=["runs"], summary="Restore a run")
def restore_run(request: ApiRequest, uid: Uid) -> RunDetail:
    """Restore a run from the trash. Needs scope launch, and that you created the run or own its experiment. Safe to
    repeat."""
    with transaction.atomic():
        run = _lock_run(request, Run.objects.permitted_to(request.auth.person), uid)
        trash.restore(run)
    return run_detail(run)


def _lock_run(request: ApiRequest, queryset: RunQuerySet, uid: str) -> Run:
    """Lock and return the run. Raise Http404 if it is not visible, HttpError if the caller may not change it or the
    request names another version.
    """
    run = get_run(request.auth, uid, queryset.select_for_update(of=("self",)))
    if not access.may_change_run(request.auth.person, run):
        raise HttpError(403, "Only the creator of a run and the owner of its experiment may change it")
    check_version(request, run_detail(run))
    return run
