"""JSON schemas of a preset's needs, and of its adaptation to a cluster."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Output, is_unstorable


class NeededFileOut(Output):
    """A file or model that you provide, by the name that the config gives it."""

    path: str
    what: str
    origin: str
    licence: str


class NeededServiceOut(Output):
    """A service that must be registered before the run starts."""

    kind: str
    name: str
    what: str


class PresetNeedsOut(Output):
    """Requirements of a preset: `gpus` on each of `nodes` nodes, each with `gpu_memory_gb` · 10⁹ bytes; 0 GPUs if it
    needs none. `hours`: shortest and longest duration on `hours_on`, null if unknown."""

    gpus: int
    gpu_memory_gb: float
    nodes: int
    parameters_billions: float
    hours: tuple[float, float] | None
    hours_on: str
    files: list[NeededFileOut]
    services: list[NeededServiceOut]


class PresetToAdapt(Input):
    """Values that differ from the preset's, such as the cluster in `compute`. They are merged over the preset."""

    config: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> PresetToAdapt:
        if is_unstorable(self.config):
            raise ValueError("config must contain no NUL characters and no unpaired surrogates")
        return self


class ConfigChangeOut(Output):
    """A setting that the adaptation changes. `why` states its effect on the results."""

    path: str
    before: Any
    after: Any
    why: str


class AdaptedPresetOut(Schema):
    """The whole config for the cluster, and what changed; `changes` is empty if the preset fits as it is."""

    preset: str
    config: dict[str, Any]
    changes: list[ConfigChangeOut]
