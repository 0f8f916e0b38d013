"""API of a run's checkpoints: list them, request the one of any other step, and download them."""

from __future__ import annotations

from django.http import Http404, StreamingHttpResponse
from django.urls import reverse
from ninja.errors import HttpError

from runs import access, checkpoints
from runs.checkpoints import SavedCheckpoint
from runs.http import ApiRequest, Step, Uid, get_run, idempotent, needs, router
from runs.launching.rebuilds.commands import (
    CannotRebuild,
    CheckpointUnavailable,
    is_ready,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
)
from runs.models import Rebuild, Run
from runs.responses import CheckpointOut, CheckpointsOut
from workers.executors.states import State

TAR = {"responses": {200: {"content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}}}}}


@router.get(
    "/runs/{uid}/checkpoints",
    response=CheckpointsOut,
    auth=needs("read"),
    tags=["checkpoints"],
    summary="List checkpoints",
)
def list_checkpoints(request: ApiRequest, uid: Uid) -> CheckpointsOut:
    """List the checkpoints that can be downloaded, those that are being rebuilt, and those that the run has deleted."""
    run = get_run(request.auth, uid)
    refusal = rebuild_refusal(run)
    saved = {step: _saved(run, checkpoint) for step, checkpoint in checkpoints.by_step(run).items()}
    rebuilt = {r.step: _rebuilt(run, r) for r in run.rebuilds.select_related("run")}
    deleted = _deleted(run, can_be_rebuilt=not refusal and checkpoints.is_replayed(run))
    items = [item for _, item in sorted({**deleted, **rebuilt, **saved}.items(), reverse=True)]
    return CheckpointsOut(items=items, last_step=run.reached_step(), only_saved=refusal)


@router.post(
    "/runs/{uid}/checkpoints/{step}",
    response={200: CheckpointOut, 202: CheckpointOut},
    auth=needs("launch"),
    tags=["checkpoints"],
    summary="Request a checkpoint",
)
@idempotent
def ask_for_checkpoint(request: ApiRequest, uid: Uid, step: Step) -> tuple[int, CheckpointOut]:
    """Request the checkpoint of any step that the run has reached: 200 if it exists, else 202, and a job rebuilds it
    from the run's replay log, bit for bit; repeat the request to see its progress. Needs scope launch, and that you
    created the run or own its experiment. Safe to repeat. 409 with the reason if it cannot be rebuilt."""
    run = get_run(request.auth, uid)
    if (saved := checkpoints.at_step(run, step)) is not None:
        return 200, _saved(run, saved)
    if not access.may_rebuild(request.auth.person, run):
        raise HttpError(
            403, "Only the user who launched a run, or the owner of its experiment, may have its checkpoints rebuilt"
        )
    try:
        rebuild = rebuild_checkpoint(run, step, request.auth.person)
    except CannotRebuild as error:
        raise HttpError(409, str(error)) from error
    return (200 if is_ready(rebuild) else 202), _rebuilt(run, rebuild)


@router.get(
    "/runs/{uid}/checkpoints/{step}/download",
    auth=needs("read"),
    tags=["checkpoints"],
    summary="Download a checkpoint",
    openapi_extra=TAR,
)
def download_checkpoint(request: ApiRequest, uid: Uid, step: Step) -> StreamingHttpResponse:
    """Download the checkpoint's Hugging Face folder as a tar file, which can be unpacked while it arrives: `curl … |
    tar x`. A checkpoint on a cluster's own disk is copied over SSH; 503 with the reason if that fails."""
    run = get_run(request.auth, uid)
    try:
        archive = open_checkpoint(run, step)
    except CheckpointUnavailable as error:
        raise HttpError(503, str(error)) from error
    if archive is None:
        raise Http404(
            f"There is no checkpoint of step {step}; request it with POST /api/v1/runs/{uid}/checkpoints/{step}"
        )
    return checkpoints.send(*archive)


def _saved(run: Run, saved: SavedCheckpoint) -> CheckpointOut:
    record = saved.record
    return CheckpointOut(
        step=saved.step,
        rebuilt=False,
        availability="on_disk",
        state=State.SUCCEEDED.value,
        progress=1.0,
        reason="",
        bytes=record.bytes if record else None,
        sha256=record.sha256 if record else "",
        download=_address(run, saved.step),
    )


def _rebuilt(run: Run, rebuild: Rebuild) -> CheckpointOut:
    download = _address(run, rebuild.step) if is_ready(rebuild) else None
    availability = "on_disk" if download else "rebuildable"
    return CheckpointOut.from_row(rebuild, rebuilt=True, availability=availability, download=download)


def _deleted(run: Run, *, can_be_rebuilt: bool) -> dict[int, CheckpointOut]:
    """Return step -> a checkpoint that the run has recorded, for all of them. A run elsewhere has its own there."""
    rows = () if run.kind.is_reported else run.checkpoint_set.order_by("attempt__n", "epoch", "seq")
    return {
        row.step: CheckpointOut(
            step=row.step,
            rebuilt=False,
            availability="rebuildable" if can_be_rebuilt else "gone",
            state=State.SUCCEEDED.value,
            progress=1.0,
            reason="",
            bytes=row.bytes,
            sha256=row.sha256,
            download=None,
        )
        for row in rows
    }


def _address(run: Run, step: int) -> str:
    return reverse("api:download_checkpoint", args=[run.uid, step])
