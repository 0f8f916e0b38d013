"""API of runs: launch, cancel, resume and clone them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any

from django.db import transaction
from ninja import BodyEx, P
from ninja.errors import HttpError
from pydantic import WrapValidator

from runs import access
from runs.http import (
    ApiRequest,
    Caller,
    Uid,
    check_owner,
    get_experiment,
    get_run,
    idempotency_key,
    idempotent,
    idempotent_unless,
    needs,
    require_scope,
    router,
)
from runs.kinds import EXTERNAL, LAUNCHED
from runs.launching.cancel import cancel_refusal
from runs.launching.commands import cancel_run, launch_run, resume_run
from runs.launching.external import ExternalRunOut, NewExternalRun, create_external_run
from runs.launching.gpu_memory import GpuDefaults
from runs.launching.request import get_own_experiment, merged, over_preset
from runs.launching.resume import CannotResume
from runs.launching.run_names import copy_name
from runs.launching.schemas import CloneRun, NewRun, RunDetail, RunOut, RunsOut, run_detail, run_out, runs_out
from runs.launching.turns import in_turn
from runs.models import Experiment, Run
from workers.config import RunConfig, presets

EXAMPLE = {"experiment_name": "Concise", "preset": "es-tiny", "config": {"es": {"iterations": 50}}, "seed": 1}
BODIES: dict[str, type[NewRun | NewExternalRun]] = {LAUNCHED.slug: NewRun, EXTERNAL.slug: NewExternalRun}
CLONE = {"seed": 2, "config": {"es": {"iterations": 50}}}


def _choose_body(body: Any, _: Any) -> NewRun | NewExternalRun:
    """Read the body as its kind demands, so that errors name the fields of one kind only."""
    kind = str(body.get("kind", LAUNCHED.slug) if isinstance(body, dict) else LAUNCHED.slug)
    if kind not in BODIES:
        raise ValueError(f"kind must be {' or '.join(BODIES)}, not {kind[:100]!r}")
    return BODIES[kind].model_validate(body)


NewRunOfAnyKind = Annotated[NewRun | NewExternalRun, WrapValidator(_choose_body)]


def _is_external(arguments: Mapping[str, Any]) -> bool:
    return isinstance(arguments.get("new"), NewExternalRun)


@router.post(
    "/runs",
    response={201: ExternalRunOut | RunOut | RunsOut},
    auth=needs("report"),
    tags=["runs"],
    summary="Launch a run, or report an external one",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
@in_turn
@idempotent_unless(_is_external)
def launch(request: ApiRequest, new: BodyEx[NewRunOfAnyKind, P()]) -> tuple[int, ExternalRunOut | RunOut | RunsOut]:
    """Launch a run and return it without waiting; it starts when there is room. Needs scope launch.

    `config` is merged over the preset's, and holds only values that differ from the defaults. Without `compute.gpus`, a
    model of 100 M parameters or more takes a GPU, or a part of one, where the cluster has one. With `seeds` one run is
    created for each, all of them or none, and the response lists them. If a config is invalid, the response is 422 with
    all problems, each with the path of its key and the valid choices.

    With kind external, create a run that a program trains elsewhere; scope report suffices. The response adds `attempt`
    and a token of scope ingest that writes its records. The same `id` continues the run: a new `start` is its next
    attempt, and the same `start` is the same attempt with a new token. Idempotency-Key serves as `start` if none is
    given.
    """
    if isinstance(new, NewExternalRun):
        return 201, _report_start(request, new)
    require_scope(request.auth, "launch")
    # All runs are checked and created before any is submitted.
    with transaction.atomic():
        experiment = get_own_experiment(request.auth, new.experiment, new.experiment_name)
        seeds: Sequence[int | None] = new.seeds or [new.seed]
        gpus = GpuDefaults(request.auth.person)
        runs = [_launch(request.auth, new, experiment, seed, gpus) for seed in seeds]
    return 201, runs_out(runs) if new.seeds else run_out(runs[0])


def _report_start(request: ApiRequest, new: NewExternalRun) -> ExternalRunOut:
    key = idempotency_key(request)
    start = create_external_run(request.auth, new, new.start or (key and sha256(key.encode()).hexdigest()))
    run = get_run(request.auth, start.attempt.run.uid)
    return ExternalRunOut.from_row(
        run_out(run), attempt=start.attempt.key, token=start.token_text, token_expires_at=start.token.expires_at,
        problems=start.problems,
    )  # fmt: skip


@router.post("/runs/{uid}/cancel", response={202: RunOut}, auth=needs("launch"), tags=["runs"], summary="Cancel a run")
def cancel(request: ApiRequest, uid: Uid) -> tuple[int, RunOut]:
    """Request the end of a run: it saves a checkpoint if it can, and ends as cancelled. A pending automatic restart is
    called off. Needs scope launch, and that you created the run or own its experiment. 409 if the run has ended, or
    trains elsewhere."""
    run = get_run(request.auth, uid)
    if not access.may_cancel(request.auth.person, run):
        raise HttpError(403, "Only the user who launched a run, or the owner of its experiment, may cancel it")
    if refusal := cancel_refusal(run):
        raise HttpError(409, refusal)
    if not run.is_open and not run.waits_to_restart:
        raise HttpError(409, f"Run {uid} has already ended ({run.state})")
    cancel_run(run, request.auth.person)
    return 202, run_out(get_run(request.auth, uid))


@router.post(
    "/runs/{uid}/resume", response={202: RunDetail}, auth=needs("launch"), tags=["runs"], summary="Resume a run"
)
@in_turn
@idempotent
def resume(request: ApiRequest, uid: Uid) -> tuple[int, RunDetail]:
    """Resume a run that ended early, in a new attempt, from its newest checkpoint, or from the beginning if it has
    none. Needs scope launch, and that you created the run or own its experiment. 409 if the run has not ended or has
    reached its last step, so two calls create one attempt."""
    run = get_run(request.auth, uid)
    if not access.may_resume(request.auth.person, run):
        raise HttpError(403, "Only the user who launched a run, or the owner of its experiment, may resume it")
    try:
        resume_run(run, request.auth.person)
    except CannotResume as error:
        raise HttpError(409, str(error)) from error
    return 202, run_detail(get_run(request.auth, uid))


@router.post(
    "/runs/{uid}/clone",
    response={201: RunOut},
    auth=needs("launch"),
    tags=["runs"],
    summary="Clone a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": CLONE}}}},
)
@in_turn
@idempotent
def clone(request: ApiRequest, uid: Uid, new: CloneRun | None = None) -> tuple[int, RunOut]:
    """Launch a new run from a run's config, with another seed, name or settings if given. Without a name, an unchanged
    clone is named as a copy, and a changed one by its settings. Needs scope launch, and an experiment of your own. 422
    with all problems if the config is no longer valid."""
    run, new = get_run(request.auth, uid), new or CloneRun()
    experiment = run.experiment if new.experiment is None else get_experiment(request.auth, new.experiment)
    check_owner(request.auth, experiment)
    config = merged(run.config, new.config) | ({} if new.seed is None else {"seed": new.seed})
    name = new.name or (copy_name(run.name) if config == run.config else "")
    cloned = launch_run(
        experiment=experiment, person=request.auth.person, config=RunConfig.from_json(config), name=name,
        preset=_known_preset(run.preset),
    )  # fmt: skip
    return 201, run_out(cloned)


def _launch(caller: Caller, new: NewRun, experiment: Experiment, seed: int | None, gpus: GpuDefaults) -> Run:
    seeded = {} if seed is None else {"seed": seed}
    config = gpus.decode(over_preset(new.preset, new.config) | seeded)
    return launch_run(experiment=experiment, person=caller.person, config=config, name=new.name, preset=new.preset)


def _known_preset(preset_name: str) -> str:
    """Return the name of a run's preset if this version still has it; else an empty text."""
    return preset_name if preset_name in presets() else ""
