"""Experiments, and the presets that runs start from."""

from __future__ import annotations

from runs.api.auth import ApiRequest, needs
from runs.api.routes import router
from runs.api.shapes import ExperimentOut, NewExperiment, PresetOut
from runs.models import Experiment
from workers.config import presets


@router.get(
    "/experiments", response=list[ExperimentOut], auth=needs("read"), tags=["experiments"], summary="List experiments"
)
def list_experiments(request: ApiRequest) -> list[ExperimentOut]:
    """Every experiment that you may see, newest first."""
    experiments = Experiment.objects.visible_to(request.auth.person).select_related("owner").order_by("-pk")
    return [ExperimentOut.of(e) for e in experiments]


@router.post(
    "/experiments",
    response={201: ExperimentOut},
    auth=needs("launch"),
    tags=["experiments"],
    summary="Make an experiment",
)
def make_experiment(request: ApiRequest, new: NewExperiment) -> tuple[int, ExperimentOut]:
    """Makes an experiment of your own. Needs scope launch."""
    return 201, ExperimentOut.of(Experiment.objects.create(owner=request.auth.person, **new.dict()))


@router.get("/presets", response=list[PresetOut], auth=needs("read"), tags=["experiments"], summary="List presets")
def list_presets(request: ApiRequest) -> list[PresetOut]:
    """Named configs to start from. A run's own config is laid over the preset's."""
    return [PresetOut(name=p.name, title=p.title, why=p.why, config=p.config) for p in presets().values()]
