"""API of sweeps: plan, launch, list, pause, resume, extend and cancel them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from ninja.errors import HttpError

from runs import access
from runs.http import (
    ApiRequest,
    Caller,
    Id,
    Limit,
    RowId,
    idempotent,
    needs,
    paginate,
    require_experiment_and_sweep,
    router,
)
from runs.launching.budgets import total
from runs.launching.budgets.schemas import HoursOut
from runs.launching.create import estimate_demands
from runs.launching.request import get_own_experiment, merged
from runs.launching.resume import CannotResume
from runs.launching.sweeps import commands, pause
from runs.launching.sweeps.commands import set_concurrent_runs, unpause_sweep
from runs.launching.sweeps.schemas import (
    CellOut,
    MoreOfSweep,
    NewSweep,
    PlannedOut,
    SweepDetail,
    SweepLine,
    SweepOut,
    SweepPlanOut,
    SweepsOut,
)
from runs.launching.sweeps.status import sweep_status
from runs.launching.sweeps.table import cell_rows
from runs.launching.turns import in_turn
from runs.models import Sweep
from workers.config import preset

MAX_PREVIEW = 5
EXAMPLE = {
    "experiment_name": "Concise",
    "preset": "es-micro",
    "grid": {"es.sigma": [0.01, 0.03], "es.population": [8, 16]},
    "seeds": [0, 1, 2],
    "at_once": 2,
}
MORE = {"grid": {"es.sigma": [0.1]}, "seeds": [3]}


def _body(example: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"example": example}}}}


@router.post(
    "/sweeps",
    response={201: SweepOut},
    auth=needs("launch"),
    tags=["sweeps"],
    summary="Launch a sweep",
    openapi_extra=_body(EXAMPLE),
)
@in_turn
@idempotent
def launch_sweep(request: ApiRequest, new: NewSweep) -> tuple[int, SweepOut]:
    """Launch a run for every cell and seed, and return the sweep without waiting. At most `at_once` of its runs are on
    their clusters at a time. Needs scope launch.

    `config` is merged over the preset's, and each cell over both. Any key of `docs/config.md` may be swept. If any cell
    is invalid, the response is 422 with all problems, and nothing is created.
    """
    with transaction.atomic():
        sweep = commands.launch_sweep(
            _new_sweep(new), get_own_experiment(request.auth, new.experiment, new.experiment_name), request.auth.person
        )
    return 201, SweepOut.from_status(sweep_status(sweep))


@router.post(
    "/sweeps/plan",
    response=SweepPlanOut,
    auth=needs("launch"),
    tags=["sweeps"],
    summary="Plan a sweep",
    openapi_extra=_body(EXAMPLE),
)
def plan_sweep(request: ApiRequest, new: NewSweep) -> SweepPlanOut:
    """Return the number of runs that a launch of this sweep would create, their estimated hours, and the first few
    runs. Creates nothing; refuses a sweep that the launch would refuse. Needs scope launch."""
    runs = commands.plan_sweep(_new_sweep(new), request.auth.person)
    experiment = (
        None if new.experiment is None else get_own_experiment(request.auth, new.experiment, new.experiment_name)
    )
    demands = estimate_demands(request.auth.person, experiment, [planned.config for planned in runs], new.preset)
    estimated = [demand.hours for demand in demands if demand.seconds is not None]
    first = [PlannedOut.from_row(run, config=run.config.to_json()) for run in runs[:MAX_PREVIEW]]
    return SweepPlanOut(
        runs=len(runs), estimated=HoursOut.from_row(total(estimated)), unknown=len(runs) - len(estimated), first=first
    )


@router.get("/sweeps", response=SweepsOut, auth=needs("read"), tags=["sweeps"], summary="List sweeps")
def list_sweeps(request: ApiRequest, experiment: Id = None, cursor: Id = None, limit: Limit = 50) -> SweepsOut:
    """List the sweeps that you may see, newest first, page by page; of one experiment if given."""
    require_experiment_and_sweep(request.auth, experiment)
    sweeps = Sweep.objects.visible_to(request.auth.person).select_related("created_by")
    sweeps = sweeps if experiment is None else sweeps.filter(experiment=experiment)
    items, following = paginate(sweeps, cursor, limit)
    return SweepsOut(items=[SweepLine.from_row(sweep) for sweep in items], next=following)


@router.get("/sweeps/{pk}", response=SweepDetail, auth=needs("read"), tags=["sweeps"], summary="Read a sweep")
def read_sweep(request: ApiRequest, pk: RowId) -> SweepDetail:
    """Return the status of a sweep: the states of its runs, its cost so far, its estimated cost, and its cells."""
    return _detail(_get_sweep(request.auth, pk))


@router.post("/sweeps/{pk}/pause", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Pause a sweep")
def pause_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Pause a sweep: no more of its runs start, and running runs continue. Runs that wait in the queue of a cluster
    leave it within seconds, and wait in the sweep; one that starts meanwhile continues. Needs scope launch, and that
    the experiment is yours. Safe to repeat."""
    sweep = _get_own_sweep(request.auth, pk)
    pause.pause_sweep(sweep)
    return _refreshed_sweep(sweep)


@router.post("/sweeps/{pk}/resume", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Resume a sweep")
def resume_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Resume a paused sweep: its waiting runs start, in their order, when there is room. Needs scope launch, and that
    the experiment is yours. Safe to repeat."""
    sweep = _get_own_sweep(request.auth, pk)
    unpause_sweep(sweep)
    return _refreshed_sweep(sweep)


@router.post(
    "/sweeps/{pk}/extend",
    response=SweepOut,
    auth=needs("launch"),
    tags=["sweeps"],
    summary="Extend a sweep",
    openapi_extra=_body(MORE),
)
@in_turn
@idempotent
def extend_sweep(request: ApiRequest, pk: RowId, more: MoreOfSweep) -> SweepOut:
    """Add values of a sweep's keys, cells or seeds, and create the runs that do not exist yet. Needs scope launch, and
    that the experiment is yours. 422 with all problems if a value is invalid; then nothing is added."""
    with transaction.atomic():
        sweep = _get_own_sweep(request.auth, pk)
        if more.grid or more.cells or more.seeds:
            commands.extend_sweep(sweep, request.auth.person, grid=more.grid, cells=more.cells, seeds=more.seeds)
        if more.at_once is not None:
            set_concurrent_runs(sweep, more.at_once)
    return _refreshed_sweep(sweep)


@router.post(
    "/sweeps/{pk}/cancel", response={202: SweepOut}, auth=needs("launch"), tags=["sweeps"], summary="Cancel a sweep"
)
def cancel_sweep(request: ApiRequest, pk: RowId) -> tuple[int, SweepOut]:
    """Request the end of all runs of a sweep that have not ended; those that have begun save a checkpoint. Needs scope
    launch, and that the experiment is yours. 409 if the sweep has ended."""
    sweep = _get_own_sweep(request.auth, pk)
    if not commands.cancel_sweep(sweep, request.auth.person):
        raise HttpError(409, f"Sweep {pk} has already ended: none of its runs is open")
    return 202, _refreshed_sweep(sweep)


@router.post("/sweeps/{pk}/uncancel", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Undo a cancel")
def uncancel_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Resume the runs that a sweep's cancel ended: those that had begun from their newest checkpoint, the others from
    the beginning. Runs that are still stopping are skipped; repeat the request. Needs scope launch, and that the
    experiment is yours. 409 if there is no such run, or if they exceed a limit together."""
    sweep = _get_own_sweep(request.auth, pk)
    try:
        resumed = commands.uncancel_sweep(sweep, request.auth.person)
    except CannotResume as error:
        raise HttpError(409, str(error)) from error
    if not resumed:
        raise HttpError(409, f"Sweep {pk} has no cancelled runs")
    return _refreshed_sweep(sweep)


def _new_sweep(new: NewSweep) -> commands.NewSweep:
    base = merged(preset(new.preset).config if new.preset else {}, new.config)
    return commands.NewSweep(
        base=base, grid=new.grid, cells=new.cells, seeds=new.seeds, name=new.name, preset=new.preset,
        at_once=new.at_once,
    )  # fmt: skip


def _get_sweep(caller: Caller, pk: int) -> Sweep:
    sweeps = Sweep.objects.visible_to(caller.person).select_related("created_by", "experiment__owner")
    sweep = sweeps.filter(pk=pk).first()
    if sweep is None:
        raise Http404(f"There is no sweep {pk} that you may see")
    return sweep


def _get_own_sweep(caller: Caller, pk: int) -> Sweep:
    sweep = _get_sweep(caller, pk)
    if not access.may_change(caller.person, sweep.experiment):
        raise HttpError(403, f"Only {sweep.experiment.owner.get_username()}, who owns its experiment, may change it")
    return sweep


def _refreshed_sweep(sweep: Sweep) -> SweepOut:
    sweep.refresh_from_db(fields=["paused_at", "cancelled_at", "at_once", "grid", "cells", "seeds"])
    return SweepOut.from_status(sweep_status(sweep))


def _detail(sweep: Sweep) -> SweepDetail:
    return SweepDetail.from_status(sweep_status(sweep), table=[CellOut.from_cell(row) for row in cell_rows(sweep)])
