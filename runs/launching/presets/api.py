"""API of presets on a cluster."""

from __future__ import annotations

from typing import TypeAlias

from ninja import P, PathEx

from runs.http import ApiRequest, needs, router
from runs.launching.gpu_memory import GpuDefaults
from runs.launching.presets.adaptation import adapt_to_cluster
from runs.launching.presets.schemas import AdaptedPresetOut, ConfigChangeOut, PresetToAdapt
from runs.launching.request import merged
from workers.config import preset

PresetPath: TypeAlias = PathEx[str, P(max_length=250, example="es-tiny")]
EXAMPLE = {"config": {"compute": {"cluster": "local"}}}


@router.post(
    "/presets/{name}/adapt",
    response=AdaptedPresetOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Adapt a preset to a cluster",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def adapt_preset(request: ApiRequest, name: PresetPath, new: PresetToAdapt) -> AdaptedPresetOut:
    """Return the preset's config with the GPUs that the cluster in `config.compute` has, and every change. Creates
    nothing. Needs scope launch. 422 if no change makes it fit, as on a cluster without GPUs.

    GRPO keeps its completions per step: fewer GPUs accumulate more passes. A change that is not comparable with
    published results says so.
    """
    selected = preset(name)
    config = GpuDefaults(request.auth.person).decode(merged(selected.config, new.config))
    adapted, changes = adapt_to_cluster(config, selected)
    rows = [ConfigChangeOut.from_row(change) for change in changes]
    return AdaptedPresetOut(preset=selected.name, config=adapted.to_json(), changes=rows)
