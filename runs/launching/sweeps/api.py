"""Sweeps: launched in one call, and looked after as one."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Caller, Id, Limit, RowId, needs, once, page, require_experiment_and_sweep, router
from runs.launching.budgets import hours_of, total
from runs.launching.budgets.schemas import HoursOut
from runs.launching.create import check_hours
from runs.launching.request import merged, place_of
from runs.launching.resume import CannotResume
from runs.launching.sweeps import commands
from runs.launching.sweeps.commands import change_at_once, unpause_sweep
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
from runs.launching.sweeps.status import standing
from runs.launching.sweeps.table import cell_rows
from runs.models import Sweep
from workers.config import preset

FIRST = 5
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
@once
def launch_sweep(request: ApiRequest, new: NewSweep) -> tuple[int, SweepOut]:
    """Launches a run for every cell and seed, and returns the sweep at once; so many run at a time as `at_once` says.
    Needs scope launch.

    `config` is laid over the preset's, and each cell over both. Any key of `docs/config.md` may be swept. What is wrong
    with any cell is answered with 422, all of it at once, and nothing is made.
    """
    with transaction.atomic():
        sweep = commands.launch_sweep(
            _asked(new), place_of(request.auth, new.experiment, new.experiment_name), request.auth.person
        )
    return 201, SweepOut.of(standing(sweep))


@router.post(
    "/sweeps/plan",
    response=SweepPlanOut,
    auth=needs("launch"),
    tags=["sweeps"],
    summary="Plan a sweep",
    openapi_extra=_body(EXAMPLE),
)
def plan_sweep(request: ApiRequest, new: NewSweep) -> SweepPlanOut:
    """Return how many runs a launch of this sweep would make, the hours that these are estimated to cost, and the first
    few runs. Makes nothing; refuses what the launch would. Needs scope launch."""
    runs = commands.plan_sweep(_asked(new), request.auth.person)
    there = None if new.experiment is None else place_of(request.auth, new.experiment, new.experiment_name)
    demands = check_hours(request.auth.person, there, [one.config for one in runs], new.preset)
    known = [hours_of(demand.config, demand.seconds) for demand in demands if demand.seconds is not None]
    first = [PlannedOut(cell=one.cell, seed=one.seed, config=one.config.to_json()) for one in runs[:FIRST]]
    return SweepPlanOut(
        runs=len(runs), estimated=HoursOut.of(total(known)), unknown=len(runs) - len(known), first=first
    )


@router.get("/sweeps", response=SweepsOut, auth=needs("read"), tags=["sweeps"], summary="List sweeps")
def list_sweeps(request: ApiRequest, experiment: Id = None, cursor: Id = None, limit: Limit = 50) -> SweepsOut:
    """Sweeps that you may see, newest first, page by page; of one experiment where asked."""
    require_experiment_and_sweep(request.auth, experiment)
    found = Sweep.objects.visible_to(request.auth.person).select_related("created_by")
    found = found if experiment is None else found.filter(experiment=experiment)
    items, following = page(found, cursor, limit)
    return SweepsOut(items=[SweepLine.of(sweep) for sweep in items], next=following)


@router.get("/sweeps/{pk}", response=SweepDetail, auth=needs("read"), tags=["sweeps"], summary="Read a sweep")
def read_sweep(request: ApiRequest, pk: RowId) -> SweepDetail:
    """Return the status of a sweep: the states of its runs, its cost so far, its estimated cost, and its cells."""
    return _detail(_the_sweep(request.auth, pk))


@router.post("/sweeps/{pk}/pause", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Pause a sweep")
def pause_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Nothing more of it starts; what runs goes on. Needs scope launch, and that the experiment is yours. Safe to
    repeat."""
    sweep = _mine(request.auth, pk)
    commands.pause_sweep(sweep)
    return _now(sweep)


@router.post("/sweeps/{pk}/resume", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Resume a sweep")
def resume_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Resume a paused sweep: its waiting runs start again when there is room. Needs scope launch, and that the
    experiment is yours. Safe to repeat."""
    sweep = _mine(request.auth, pk)
    unpause_sweep(sweep)
    return _now(sweep)


@router.post(
    "/sweeps/{pk}/extend",
    response=SweepOut,
    auth=needs("launch"),
    tags=["sweeps"],
    summary="Extend a sweep",
    openapi_extra=_body(MORE),
)
@once
def extend_sweep(request: ApiRequest, pk: RowId, more: MoreOfSweep) -> SweepOut:
    """Adds values of its keys, cells or seeds: every run that these make and that is not there already. Needs scope
    launch, and that the experiment is yours. What is wrong is answered with 422, and nothing is added."""
    with transaction.atomic():
        sweep = _mine(request.auth, pk)
        if more.grid or more.cells or more.seeds:
            commands.extend_sweep(sweep, request.auth.person, grid=more.grid, cells=more.cells, seeds=more.seeds)
        if more.at_once is not None:
            change_at_once(sweep, more.at_once)
    return _now(sweep)


@router.post(
    "/sweeps/{pk}/cancel", response={202: SweepOut}, auth=needs("launch"), tags=["sweeps"], summary="Cancel a sweep"
)
def cancel_sweep(request: ApiRequest, pk: RowId) -> tuple[int, SweepOut]:
    """Asks all of its runs to stop that have not ended: those that have begun save a checkpoint. Needs scope launch,
    and that the experiment is yours. One that has ended is answered with 409."""
    sweep = _mine(request.auth, pk)
    if not commands.cancel_sweep(sweep, request.auth.person):
        raise HttpError(409, f"Sweep {pk} has ended already: none of its runs is open")
    return 202, _now(sweep)


@router.post("/sweeps/{pk}/uncancel", response=SweepOut, auth=needs("launch"), tags=["sweeps"], summary="Undo a cancel")
def uncancel_sweep(request: ApiRequest, pk: RowId) -> SweepOut:
    """Lets the runs go on that its cancel ended: those that had begun from their newest checkpoint, the others from the
    beginning. Runs that are still stopping are left; ask again. Needs scope launch, and that the experiment is yours.
    Where there is none, or where they are together beyond a limit, 409."""
    sweep = _mine(request.auth, pk)
    try:
        resumed = commands.uncancel_sweep(sweep, request.auth.person)
    except CannotResume as error:
        raise HttpError(409, str(error)) from error
    if not resumed:
        raise HttpError(409, f"There is no run of sweep {pk} that a cancel has ended")
    return _now(sweep)


def _asked(new: NewSweep) -> commands.NewSweep:
    base = merged(preset(new.preset).config if new.preset else {}, new.config)
    return commands.NewSweep(
        base=base, grid=new.grid, cells=new.cells, seeds=new.seeds, name=new.name, preset=new.preset,
        at_once=new.at_once,
    )  # fmt: skip


def _the_sweep(caller: Caller, pk: int) -> Sweep:
    sweeps = Sweep.objects.visible_to(caller.person).select_related("created_by", "experiment__owner")
    sweep = sweeps.filter(pk=pk).first()
    if sweep is None:
        raise Http404(f"There is no sweep {pk} that you may see")
    return sweep


def _mine(caller: Caller, pk: int) -> Sweep:
    sweep = _the_sweep(caller, pk)
    if not access.may_change(caller.person, sweep.experiment):
        raise HttpError(403, f"Only {sweep.experiment.owner.get_username()}, whose experiment it is in, may change it")
    return sweep


def _now(sweep: Sweep) -> SweepOut:
    sweep.refresh_from_db(fields=["paused_at", "cancelled_at", "at_once", "grid", "cells", "seeds"])
    shown: SweepOut = SweepOut.of(standing(sweep))
    return shown


def _detail(sweep: Sweep) -> SweepDetail:
    shown: SweepDetail = SweepDetail.of(standing(sweep), table=[CellOut.of(row) for row in cell_rows(sweep)])
    return shown
