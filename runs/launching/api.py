"""Launching, cancelling, resuming and cloning runs."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from ninja.errors import HttpError

from runs import access
from runs.http import ApiRequest, Caller, Uid, check_owner, needs, once, router, the_experiment, the_run
from runs.launching.commands import cancel_run, launch_run, resume_run
from runs.launching.config_form import COPY, NAME_LENGTH
from runs.launching.request import merged, place_of
from runs.launching.resume import CannotResume
from runs.launching.schemas import CloneRun, NewRun, RunDetail, RunOut, RunsOut, run_detail
from runs.models import Experiment, Run
from workers.config import preset, presets

EXAMPLE = {"experiment_name": "Concise", "preset": "es-tiny", "config": {"es": {"iterations": 50}}, "seed": 1}
CLONE = {"seed": 2, "config": {"es": {"iterations": 50}}}


@router.post(
    "/runs",
    response={201: RunOut | RunsOut},
    auth=needs("launch"),
    tags=["runs"],
    summary="Launch a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@once
def launch(request: ApiRequest, new: NewRun) -> tuple[int, RunOut | RunsOut]:
    """Launches a run and returns it at once; it starts when there is room. Needs scope launch.

    `config` is laid over the preset's, and holds only what differs from the defaults. With `seeds` there is one run for
    each, all of them or none, and the answer lists them. What is wrong with a config is answered with 422, all of it at
    once, each problem with the path of its key and the valid choices.
    """
    # Everything is checked and made before anything is submitted.
    with transaction.atomic():
        experiment = place_of(request.auth, new.experiment, new.experiment_name)
        seeds: Sequence[int | None] = new.seeds or [new.seed]
        runs = [_launched(request.auth, new, experiment, seed) for seed in seeds]
    shown = [RunOut.of(run) for run in runs]
    return 201, RunsOut(items=shown) if new.seeds else shown[0]


@router.post("/runs/{uid}/cancel", response={202: RunOut}, auth=needs("launch"), tags=["runs"], summary="Cancel a run")
def cancel(request: ApiRequest, uid: Uid) -> tuple[int, RunOut]:
    """Asks a run to stop: it saves a checkpoint where it can, and ends as cancelled. Needs scope launch, and that you
    made the run or own its experiment. A run that waits to start again by itself will not. One that has ended is
    answered with 409."""
    run = the_run(request.auth, uid)
    if not access.may_cancel(request.auth.person, run):
        raise HttpError(403, "Only who made a run, or owns its experiment, may cancel it")
    if not run.is_open and not run.waits_to_restart:
        raise HttpError(409, f"Run {uid} has ended already: {run.state}")
    cancel_run(run, request.auth.person)
    run.refresh_from_db()
    return 202, RunOut.of(run)


@router.post(
    "/runs/{uid}/resume", response={202: RunDetail}, auth=needs("launch"), tags=["runs"], summary="Resume a run"
)
@once
def resume(request: ApiRequest, uid: Uid) -> tuple[int, RunDetail]:
    """Lets a run that ended early go on, in a new attempt, from its newest checkpoint, or from the beginning where it
    has left none. Needs scope launch, and that you made the run or own its experiment. A run that has not ended, or has
    reached its last step, is answered with 409: called twice, it makes one attempt."""
    run = the_run(request.auth, uid)
    if not access.may_resume(request.auth.person, run):
        raise HttpError(403, "Only who made a run, or owns its experiment, may resume it")
    try:
        resume_run(run, request.auth.person)
    except CannotResume as error:
        raise HttpError(409, str(error)) from error
    run.refresh_from_db()
    return 202, run_detail(run)


@router.post(
    "/runs/{uid}/clone",
    response={201: RunOut},
    auth=needs("launch"),
    tags=["runs"],
    summary="Clone a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CLONE}}}},
)
@once
def clone(request: ApiRequest, uid: Uid, new: CloneRun | None = None) -> tuple[int, RunOut]:
    """Launches a new run from a run's config, with another seed, name or knobs where given. Needs scope launch, and an
    experiment of your own. What no longer fits is answered with 422, all of it at once."""
    run, new = the_run(request.auth, uid), new or CloneRun()
    experiment = run.experiment if new.experiment is None else the_experiment(request.auth, new.experiment)
    check_owner(request.auth, experiment)
    config = merged(run.config, new.config) | ({} if new.seed is None else {"seed": new.seed})
    name = new.name or f"{run.name[:NAME_LENGTH]}{COPY}"
    made = launch_run(
        experiment=experiment, person=request.auth.person, config=config, name=name, preset=_known(run.preset)
    )
    return 201, RunOut.of(made)


def _launched(caller: Caller, new: NewRun, experiment: Experiment, seed: int | None) -> Run:
    config = merged(preset(new.preset).config if new.preset else {}, new.config)
    if seed is not None:
        config["seed"] = seed
    return launch_run(experiment=experiment, person=caller.person, config=config, name=new.name, preset=new.preset)


def _known(preset_name: str) -> str:
    """A run's preset, where this version still has it."""
    return preset_name if preset_name in presets() else ""
