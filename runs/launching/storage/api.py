"""API of a run's disk space: what its files take, and the deletion of parts of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from ninja import Schema
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Input, Output, Uid, get_run, needs, router
from runs.launching.storage.commands import CannotFree, free, measured
from runs.launching.storage.inventory import Part

FREE_EXAMPLE = {"parts": ["rebuildable"]}
PartName = Literal["rebuildable", "states", "weights"]


class PartsToFree(Input):
    """Parts to delete. rebuildable: checkpoints that the replay log rebuilds. states: what a GRPO run needs to resume.
    weights: checkpoints that nothing rebuilds, with their states."""

    parts: list[PartName]


class DiskUseOut(Output):
    """Bytes of all files of a run on the site's disk; of the checkpoints among them that its replay log rebuilds; and
    of weights and trainer states that nothing rebuilds."""

    total_bytes: int
    rebuildable_bytes: int
    other_bytes: int
    measured_at: datetime


class FreedOut(Schema):
    """Bytes that were deleted, a sentence for each checkpoint that stays, and what the files take now."""

    freed_bytes: int
    refusals: list[str]
    disk_use: DiskUseOut


@router.get(
    "/runs/{uid}/storage",
    response=DiskUseOut,
    auth=needs("read"),
    tags=["checkpoints"],
    summary="Measure the disk space of a run",
)
def read_storage(request: ApiRequest, uid: Uid) -> DiskUseOut:
    """Measure what the run's files take on the site's disk."""
    return DiskUseOut.from_row(measured(get_run(request.auth, uid)))


@router.post(
    "/runs/{uid}/storage/free",
    response=FreedOut,
    auth=needs("launch"),
    tags=["checkpoints"],
    summary="Free disk space of a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": FREE_EXAMPLE}}}},
)
def free_storage(request: ApiRequest, uid: Uid, body: PartsToFree) -> FreedOut:
    """Delete parts of an ended run's weights. Needs scope launch, and that you created the run or own its experiment.
    Checkpoints that a job reads stay, and so do those that nothing rebuilds and another run has as its model. Safe to
    repeat. 409 with the reason while the run, or a rebuild of it, has not ended."""
    run = get_run(request.auth, uid)
    if not access.may_change_run(request.auth.person, run):
        raise HttpError(403, "Only the user who launched a run, or the owner of its experiment, may delete its weights")
    try:
        freed = free(run, request.auth.person, {Part(name) for name in body.parts})
    except CannotFree as error:
        raise HttpError(409, str(error)) from error
    return FreedOut(freed_bytes=freed.bytes, refusals=freed.refusals, disk_use=DiskUseOut.from_row(run.disk_use))
