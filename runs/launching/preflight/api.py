"""API of the pre-flight check of a run."""

from __future__ import annotations

from runs.http import ApiRequest, needs, router
from runs.launching.create import check_config
from runs.launching.gpu_memory import GpuDefaults
from runs.launching.gpu_memory.schemas import RunToPlan
from runs.launching.preflight.check import check_launch
from runs.launching.preflight.schemas import PreflightOut
from runs.launching.request import over_preset

EXAMPLE = {"preset": "es-tiny", "config": {"es": {"iterations": 200, "checkpoint_every": 50}}}


@router.post(
    "/preflight",
    response=PreflightOut,
    auth=needs("launch"),
    tags=["runs"],
    summary="Check a run before its launch",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def check_preflight(request: ApiRequest, new: RunToPlan) -> PreflightOut:
    """Return the GPU memory, the disk of checkpoints, the estimated hours and the needs of a run. Creates nothing;
    refuses a config that a launch would refuse. Needs scope launch.

    Whether programs and GPUs are on the nodes is checked there, by `python -m workers.check`.
    """
    config = GpuDefaults(request.auth.person).decode(over_preset(new.preset, new.config))
    check_config(config, request.auth.person)
    return PreflightOut.from_preflight(check_launch([config], request.auth.person, new.preset))
