"""API of experiments, and of the presets that runs start from."""

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
    get_experiment,
    idempotent,
    needs,
    on_shelf,
    paginate,
    router,
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
    """List the experiments that you may see, newest first, page by page."""
    experiments = on_shelf(Experiment.objects.permitted_to(request.auth.person), shelf)
    for word in q.split():
        experiments = experiments.filter(Q(name__icontains=word) | Q(question__icontains=word))
    experiments = experiments.filter(tags__contains=[tag]) if tag else experiments
    items, following = paginate(experiments.select_related("owner"), cursor, limit)
    return ExperimentsOut(items=[ExperimentOut.from_row(e) for e in items], next=following)


@router.post(
    "/experiments",
    response={201: ExperimentOut},
    auth=needs("launch"),
    tags=["experiments"],
    summary="Create an experiment",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@idempotent
def make_experiment(request: ApiRequest, new: NewExperiment) -> tuple[int, ExperimentOut]:
    """Create an experiment that you own. Needs scope launch."""
    return 201, ExperimentOut.from_row(Experiment.objects.create(owner=request.auth.person, **new.dict()))


@router.get(
    "/experiments/{pk}",
    response=ExperimentOut,
    auth=needs("read"),
    tags=["experiments"],
    summary="Read an experiment",
)
def read_experiment(request: ApiRequest, pk: RowId) -> ExperimentOut:
    """Return an experiment. List its runs with `/api/v1/runs?experiment=…`."""
    return ExperimentOut.from_row(get_experiment(request.auth, pk))


@router.patch(
    "/experiments/{pk}",
    response=ExperimentOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Change an experiment",
    openapi_extra=CHANGES | {"requestBody": {"content": {"application/json": {"example": CHANGE}}}},
)
def change_experiment(request: ApiRequest, pk: RowId, new: ChangedExperiment) -> ExperimentOut:
    """Rename, tag, annotate or archive an experiment. Needs scope launch, and that the experiment is yours."""
    with transaction.atomic():
        experiment = _lock_experiment(request, Experiment.objects.visible_to(request.auth.person), pk)
        values = {name: value for name, value in new.dict().items() if value is not None}
        if (archived := values.pop("archived", None)) is not None:
            trash.archive(experiment, request.auth.person) if archived else trash.unarchive(experiment)
        change(experiment, request.auth.person, values)
    return ExperimentOut.from_row(experiment)


@router.delete(
    "/experiments/{pk}",
    response={204: None},
    auth=needs("launch"),
    tags=["experiments"],
    summary="Delete an experiment",
    openapi_extra=CHANGES,
)
def delete_experiment(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Move an experiment with its runs to the trash, from which it can be restored for 30 days. Cancel runs that have
    not finished. Needs scope launch, and that the experiment is yours."""
    with transaction.atomic():
        experiment = _lock_experiment(request, Experiment.objects.visible_to(request.auth.person), pk)
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
    """Restore an experiment with its runs from the trash. Needs scope launch, and that the experiment is yours. Safe
    to repeat."""
    with transaction.atomic():
        experiment = _lock_experiment(request, Experiment.objects.permitted_to(request.auth.person), pk)
        trash.restore(experiment)
    return ExperimentOut.from_row(experiment)


@router.get("/presets", response=list[PresetOut], auth=needs("read"), tags=["experiments"], summary="List presets")
def list_presets(request: ApiRequest) -> list[PresetOut]:
    """List the named configs to start from, with what they need. A run's own config overrides the preset's."""
    return [PresetOut.from_row(preset) for preset in presets().values()]


def _lock_experiment(request: ApiRequest, queryset: QuerySet[Experiment], pk: int) -> Experiment:
    """Lock and return the experiment. Raise Http404 if it is not visible, HttpError if it is not the caller's or the
    request names another version."""
    locked = queryset.select_for_update(of=("self",))
    experiment = get_experiment(request.auth, pk, locked)
    check_owner(request.auth, experiment)
    check_version(request, ExperimentOut.from_row(experiment))
    return experiment
