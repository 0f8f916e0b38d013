"""Experiments, and the presets that runs start from."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet

from runs.experiments import trash
from runs.experiments.audit_log import change
from runs.experiments.schemas import ChangedExperiment, ExperimentOut, ExperimentsOut, NewExperiment, PresetOut
from runs.http import (
    CHANGES,
    ApiRequest,
    Id,
    Limit,
    RowId,
    Shelf,
    Tag,
    Words,
    check_owner,
    check_version,
    needs,
    on_shelf,
    once,
    page,
    router,
    the_experiment,
)
from runs.models import Experiment
from workers.config import presets

NEW = {"name": "Concise", "question": "Does ES learn to be concise?", "tags": ["pilot"]}
CHANGE = {"question": "Does ES learn it sooner than GRPO?", "tags": ["pilot", "paper"], "archived": False}


@router.get(
    "/experiments", response=ExperimentsOut, auth=needs("read"), tags=["experiments"], summary="List experiments"
)
def list_experiments(
    request: ApiRequest,
    q: Words = "",
    tag: Tag | None = None,
    shelf: Shelf = "current",
    cursor: Id = None,
    limit: Limit = 50,
) -> ExperimentsOut:
    """Experiments that you may see, newest first, page by page."""
    found = on_shelf(Experiment.objects.permitted_to(request.auth.person), shelf)
    for word in q.split():
        found = found.filter(Q(name__icontains=word) | Q(question__icontains=word))
    found = found.filter(tags__contains=[tag]) if tag else found
    items, following = page(found.select_related("owner"), cursor, limit)
    return ExperimentsOut(items=[ExperimentOut.of(e) for e in items], next=following)


@router.post(
    "/experiments",
    response={201: ExperimentOut},
    auth=needs("launch"),
    tags=["experiments"],
    summary="Make an experiment",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@once
def make_experiment(request: ApiRequest, new: NewExperiment) -> tuple[int, ExperimentOut]:
    """Makes an experiment of your own. Needs scope launch."""
    return 201, ExperimentOut.of(Experiment.objects.create(owner=request.auth.person, **new.dict()))


@router.get(
    "/experiments/{pk}",
    response=ExperimentOut,
    auth=needs("read"),
    tags=["experiments"],
    summary="Read an experiment",
)
def read_experiment(request: ApiRequest, pk: RowId) -> ExperimentOut:
    """One experiment. Its runs: `/api/v1/runs?experiment=…`."""
    return ExperimentOut.of(the_experiment(request.auth, pk))


@router.patch(
    "/experiments/{pk}",
    response=ExperimentOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Change an experiment",
    openapi_extra=CHANGES | {"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_experiment(request: ApiRequest, pk: RowId, new: ChangedExperiment) -> ExperimentOut:
    """Renames, tags, annotates, archives. Needs scope launch, and that the experiment is yours."""
    with transaction.atomic():
        experiment = _mine(request, Experiment.objects.visible_to(request.auth.person), pk)
        given = {name: value for name, value in new.dict().items() if value is not None}
        if (archived := given.pop("archived", None)) is not None:
            trash.archive(experiment, request.auth.person) if archived else trash.unarchive(experiment)
        change(experiment, request.auth.person, given)
    return ExperimentOut.of(experiment)


@router.delete(
    "/experiments/{pk}",
    response={204: None},
    auth=needs("launch"),
    tags=["experiments"],
    summary="Delete an experiment",
    openapi_extra=CHANGES,
)
def delete_experiment(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Puts an experiment with its runs into the bin, from where it can be restored for 30 days. Runs that have not
    ended are cancelled. Needs scope launch, and that the experiment is yours."""
    with transaction.atomic():
        experiment = _mine(request, Experiment.objects.visible_to(request.auth.person), pk)
        trash.delete_experiment(experiment, request.auth.person)
    return 204, None


@router.post(
    "/experiments/{pk}/restore",
    response=ExperimentOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Restore an experiment",
)
def restore_experiment(request: ApiRequest, pk: RowId) -> ExperimentOut:
    """Takes an experiment with its runs out of the bin. Needs scope launch, and that the experiment is yours. Safe to
    repeat."""
    with transaction.atomic():
        experiment = _mine(request, Experiment.objects.permitted_to(request.auth.person), pk)
        trash.restore(experiment)
    return ExperimentOut.of(experiment)


@router.get("/presets", response=list[PresetOut], auth=needs("read"), tags=["experiments"], summary="List presets")
def list_presets(request: ApiRequest) -> list[PresetOut]:
    """Named configs to start from. A run's own config is laid over the preset's."""
    return [PresetOut(name=p.name, title=p.title, why=p.why, config=p.config) for p in presets().values()]


def _mine(request: ApiRequest, among: QuerySet[Experiment], pk: int) -> Experiment:
    """The experiment, locked, in the version that was asked for. Raises Http404, HttpError."""
    locked = among.select_for_update(of=("self",))
    experiment = the_experiment(request.auth, pk, locked)
    check_owner(request.auth, experiment)
    check_version(request, ExperimentOut.of(experiment))
    return experiment
