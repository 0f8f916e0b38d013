"""API of the GPU memory plan of a run, before its launch."""

from __future__ import annotations

from runs.http import ApiRequest, needs, router
from runs.launching.create import check_allowed
from runs.launching.gpu_memory import plan
from runs.launching.gpu_memory.default_gpus import GpuDefaults
from runs.launching.gpu_memory.schemas import GpuMemoryOut, RunToPlan
from runs.launching.request import over_preset

EXAMPLE = {"preset": "es-tiny", "config": {"es": {"noise": "low_rank"}, "compute": {"gpus": 1}}}


@router.post(
    "/gpu-memory",
    response=GpuMemoryOut,
    auth=needs("launch"),
    tags=["runs"],
    summary="Plan the GPU memory of a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def plan_gpu_memory(request: ApiRequest, new: RunToPlan) -> GpuMemoryOut:
    """Return the GPU memory that a run would take on cards of several sizes. Creates nothing; refuses a config that
    a launch would refuse, except for GPUs that the cluster lacks. Needs scope launch.

    An ES run plans again when it starts, for its own card and prompts. Runs that train nothing, runs without GPUs, and
    models whose config.json this site cannot read have a `reason` and no cards. For a GRPO run that does not fit,
    `remedies` are changes with which it does.
    """
    config = GpuDefaults(request.auth.person).decode(over_preset(new.preset, new.config))
    check_allowed(config, request.auth.person)
    [planned] = plan.plan_gpu_memory([config], request.auth.person)
    return GpuMemoryOut.from_memory(planned)
